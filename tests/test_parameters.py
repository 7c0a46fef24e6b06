"""Values that are parameters of estimators: read, set, copied, compared and shown."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

import sparsefield as sf
from sparsefield._parameters import Parameters

VALUES = {
    "Newton": sf.Newton(schedule="perfect", n_chains=500),
    "Proximal": sf.Proximal(bound="paper", step_size=0.4),
    "EBIC": sf.EBIC(0.5, n_alphas=7),
    "HeldOut": sf.HeldOut(3, alphas=[0.1, 0.05]),
    "StARS": sf.StARS(0.1, relax=True),
    "FalseDiscovery": sf.FalseDiscovery(0.05, rate="by"),
}
each = pytest.mark.parametrize("name", VALUES)


@each
def test_parameters_are_read_and_set_by_name(name):
    value = VALUES[name]
    params = value.get_params()
    assert all(getattr(value, own) == given for own, given in params.items())
    other = type(value)()
    assert other != value
    assert other.set_params(**params) is other
    assert other == value


@each
def test_copies_of_all_kinds_are_the_same_value(name):
    value = VALUES[name]
    shown = eval(repr(value), {name: type(value)})
    for again in (copy.deepcopy(value), pickle.loads(pickle.dumps(value)), clone(value), shown):
        assert again is not value
        assert again == value


@each
def test_names_that_there_are_none_of_are_refused(name):
    value = copy.deepcopy(VALUES[name])
    known = ", ".join(value.get_params())
    with pytest.raises(ValueError, match=rf"{name} has no parameter 'colour': it has {known}\."):
        value.set_params(colour="blue")
    assert value == VALUES[name]


def test_what_is_shown_is_what_was_given():
    assert repr(sf.Newton()) == "Newton()"
    assert repr(VALUES["Newton"]) == "Newton(schedule='perfect', n_chains=500)"
    assert repr(VALUES["EBIC"]) == "EBIC(n_alphas=7, gamma=0.5)"
    assert repr(sf.FalseDiscovery()) == "FalseDiscovery()"


def test_what_has_no_default_is_always_shown():
    @dataclass(repr=False)
    class Own(Parameters):
        strength: float
        kind: str = "plain"

    assert repr(Own(1.0)) == "Own(strength=1.0)"
    assert Own(1.0).get_params() == {"strength": 1.0, "kind": "plain"}


def test_arrays_are_shown_as_what_was_given():
    rule = sf.EBIC(alphas=np.array([0.1, 0.05]))
    assert repr(rule) == "EBIC(alphas=array([0.1 , 0.05]))"
    assert "EBIC" in repr(sf.SparseMRF(rule))
    assert clone(sf.SparseMRF(rule)).alpha.alphas.tolist() == [0.1, 0.05]


def test_estimators_reach_the_parameters_of_their_values():
    mrf = sf.SparseMRF(sf.EBIC(), solver=sf.Newton(tol=1e-6))
    assert mrf.get_params()["alpha__gamma"] == 0.25
    assert mrf.get_params()["solver__tol"] == 1e-6
    other = clone(mrf).set_params(alpha__gamma=0.5, solver__max_iter=7)
    assert (other.alpha, other.solver) == (sf.EBIC(0.5), sf.Newton(tol=1e-6, max_iter=7))
    assert (mrf.alpha, mrf.solver) == (sf.EBIC(), sf.Newton(tol=1e-6))
