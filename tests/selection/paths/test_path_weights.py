"""Weights along a path, which choices keep."""

import json
import pickle

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.network import Network
from sparsefield.parallel._checkpoint import Checkpoint
from sparsefield.selection import Choice, PathWeights, select


@pytest.fixture(scope="module")
def table():
    return sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(1000, method="perfect", seed=1)


def assert_same(weights, networks):
    """Check each weight against the network of its fit, also of pairs that are left out."""
    for own, network in zip(weights.values, networks, strict=True):
        whole = np.zeros_like(network.strengths)
        whole[weights.pairs[:, 0], weights.pairs[:, 1]] = own
        np.testing.assert_array_equal(whole + whole.T, network.strengths)


def test_weights_of_a_path_are_those_of_its_networks(table):
    path = sf.path(table, [0.2, 0.05, 0.01])
    weights = PathWeights.of(path)
    assert weights.alphas == path.alphas
    assert weights.names == table.domain.names
    assert_same(weights, [Network.of(fit) for fit in path.fits])


def test_a_choice_keeps_the_weights_of_all_rows(table):
    choice = select(table, sf.EBIC(n_alphas=8))
    weights = choice.weights
    assert weights.alphas == tuple(choice.table["alpha"])
    assert np.count_nonzero(weights.values, axis=1).tolist() == choice.table["edges"].to_list()
    fit = sf.learn(table, choice.alpha)
    row = np.zeros((6, 6))
    row[tuple(weights.pairs.T)] = weights.values[choice.index]
    # Paths of enumerated tables end where 1 / (4 n) of the objective is left to gain.
    np.testing.assert_allclose(row + row.T, Network.of(fit).strengths, atol=0.05)
    assert np.array_equal(row + row.T != 0, Network.of(fit).strengths != 0)


def test_choices_with_folds_and_from_a_folder_have_weights_too(table, tmp_path):
    first = select(table, sf.HeldOut(alphas=[0.05, 0.01], cv=2, checkpoint=tmp_path / "parts"))
    again = select(table, sf.HeldOut(alphas=[0.05, 0.01], cv=2, checkpoint=tmp_path / "parts"))
    assert first.weights.values.any()
    np.testing.assert_array_equal(first.weights.values, again.weights.values)
    np.testing.assert_array_equal(first.weights.pairs, again.weights.pairs)


def test_folders_and_choices_from_before_have_no_weights(table, tmp_path):
    first = select(table, sf.EBIC(alphas=[0.05, 0.01], checkpoint=tmp_path))
    folder = Checkpoint(tmp_path, json.loads((tmp_path / "run.json").read_text(encoding="utf-8")))
    found = folder.read(0)
    folder.write(0, {name: own for name, own in found.items() if name not in ("joined", "weights")})
    again = select(table, sf.EBIC(alphas=[0.05, 0.01], checkpoint=tmp_path))
    assert again.weights is None
    assert again.alpha == first.alpha

    # A pickle holds the attributes that there were.
    state = {name: value for name, value in vars(first).items() if name != "weights"}
    kept = object.__new__(Choice)
    kept.__dict__.update(state)
    assert pickle.loads(pickle.dumps(kept)).weights is None


def test_a_path_without_fits_has_no_weights(table):
    weights = PathWeights.of(sf.path(table, [0.1], max_seconds=0))
    assert weights.values.shape == (0, 0)
    assert weights.pairs.shape == (0, 2)
