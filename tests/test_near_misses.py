"""Names of parameters that belong elsewhere, or are nearly right."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield._near_misses import explain_names
from sparsefield.fitting import Options

ELSEWHERE = {
    "schedule": "solver=Newton(schedule=...)",
    "n_chains": "solver=Newton(n_chains=...)",
    "max_iter": "solver=Newton(max_iter=...)",
    "max_sweeps": "solver=Newton(max_sweeps=...)",
    "tol": "solver=Newton(tol=...)",
    "bound": "solver=Proximal(bound=...)",
    "certificate": "solver=Proximal(bound=...)",
    "chains": "solver=Proximal(chains=...)",
    "step_size": "solver=Proximal(step_size=...)",
    "gamma": "alpha=EBIC(gamma=...)",
    "alphas": "alpha=EBIC(alphas=...)",
    "n_alphas": "alpha=EBIC(n_alphas=...)",
    "relax": "alpha=EBIC(relax=...)",
    "n_jobs": "alpha=EBIC(n_jobs=...)",
    "checkpoint": "alpha=EBIC(checkpoint=...)",
    "cv": "alpha=HeldOut(cv=...)",
    "n_folds": "alpha=HeldOut(cv=...)",
    "beta": "alpha=StARS(beta=...)",
    "n_subsamples": "alpha=StARS(n_subsamples=...)",
    "criterion": "alpha=EBIC(), HeldOut() or StARS()",
    "fdr": "alpha=FalseDiscovery(fdr=...)",
    "rate": "alpha=FalseDiscovery(rate=...)",
    "backend": "device=...",
}
TABLE = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
TAKERS = {
    "SparseMRF": sf.SparseMRF,
    "learn": lambda **own: sf.learn(TABLE, **own),
    "Options": Options,
}


def say(taker, **own):
    """Return what somebody is told who gives a name that is none."""
    with pytest.raises(TypeError) as caught:
        TAKERS[taker](**own)
    return str(caught.value)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_that_belongs_elsewhere_is_said_to(taker, name):
    if taker == "Options" and ELSEWHERE[name].startswith("alpha="):  # which options have none of
        assert say(taker, **{name: 1}).startswith(f"Options has no parameter {name!r}: it has solver, gap")
        return
    assert say(taker, **{name: 1}) == f"{taker} has no parameter {name!r}: give {ELSEWHERE[name]}"


def parse(place):
    """Return the class and the parameter of a place such as alpha=EBIC(gamma=...)."""
    kind, _, name = place.partition("=")[2].removesuffix("=...)").partition("(")
    return getattr(sf, kind), name


@pytest.mark.parametrize("place", sorted({own for own in ELSEWHERE.values() if own.endswith("=...)")}))
def test_places_are_there(place):
    kind, name = parse(place)
    assert name in kind().get_params()


@pytest.mark.parametrize(
    ("taker", "name", "meant"),
    [
        ("SparseMRF", "seed", "random_state"),
        ("learn", "random_state", "seed"),
        ("SparseMRF", "n_thread", "n_threads"),
        ("learn", "penalise_main", "penalize_main"),
        ("Options", "sover", "solver"),
    ],
)
def test_a_name_that_is_nearly_right_is_told_which_is(taker, name, meant):
    assert say(taker, **{name: 1}) == f"{taker} has no parameter {name!r}: did you mean {meant!r}?"


def test_a_name_that_is_like_none_is_told_all_of_them():
    said = say("SparseMRF", colour="blue")
    assert said.startswith("SparseMRF has no parameter 'colour': it has alpha, missing, ordinal, ")
    assert said.endswith(", progress.")


def test_resamples_and_paths_and_choices_refuse_the_same_names():
    for take in (sf.bootstrap, sf.stability, sf.path, sf.selection.select):
        with pytest.raises(TypeError, match=r"no parameter 'max_iter': give solver=Newton\(max_iter=\.\.\.\)"):
            take(TABLE, max_iter=5)


def test_a_choice_is_told_of_its_rule_and_a_path_that_it_takes_none():
    with pytest.raises(TypeError, match=r"select has no parameter 'gamma': give rule=EBIC\(gamma=\.\.\.\)"):
        sf.selection.select(TABLE, gamma=0.5)
    with pytest.raises(TypeError, match=r"path has no parameter 'gamma': it is one of a rule, EBIC\(gamma=\.\.\.\)"):
        sf.path(TABLE, gamma=0.5)


def test_names_that_are_right_change_nothing():
    @explain_names
    def add(one, *, other=1):
        """Add."""
        return one + other

    assert (add(1), add(1, other=3), add(one=2)) == (2, 4, 3)
    assert (add.__name__, add.__doc__) == ("add", "Add.")
    with pytest.raises(TypeError, match="add has no parameter 'anothr'"):
        add(1, anothr=3)


@pytest.mark.parametrize(
    ("take", "name", "said"),
    [
        (lambda **own: sf.bootstrap(TABLE, **own), "n_boot", "bootstrap has no parameter 'n_boot': did you mean 'n'?"),
        (
            lambda **own: sf.stability(TABLE, **own),
            "share",
            "stability has no parameter 'share': did you mean 'shares'?",
        ),
        (sf.PseudoLikelihood, "n_chains", "PseudoLikelihood has no parameter 'n_chains': it has alpha, ordinal"),
        (lambda **own: sf.path(TABLE, **own), "n_alpha", "path has no parameter 'n_alpha': did you mean 'n_alphas'?"),
        (
            lambda **own: sf.infer(TABLE, **own),
            "threads",
            "infer has no parameter 'threads': did you mean 'n_threads'?",
        ),
    ],
)
def test_names_are_those_of_the_function_that_was_called(take, name, said):
    with pytest.raises(TypeError) as caught:
        take(**{name: 3})
    assert str(caught.value).startswith(said)
