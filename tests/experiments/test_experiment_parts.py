"""What the experiments are made of: the law of chains, the optimum, the votes."""

import numpy as np
import pytest

import exact_chains
from sparsefield import PairwiseMRF
from sparsefield.datasets import make_field
from sparsefield_experiments._law import Law
from sparsefield_experiments._trials import QUICK, find_optimum, make_trial
from sparsefield_experiments._votes import NELSON, load_votes


@pytest.mark.parametrize("n_sweeps", [1, 4])
def test_the_law_of_chains_is_that_of_the_tests(n_sweeps):
    model = make_field(6, seed=3)
    law = Law(model)
    laws = np.eye(64)
    for _ in range(n_sweeps):
        laws = exact_chains.sweep(laws, model.main, model.interactions)
    pairs = exact_chains.pair_moments(laws, 6)
    errors = pairs - exact_chains.pair_moments(exact_chains.probabilities(model.main, model.interactions)[None], 6)
    worst, usual = law.biases(n_sweeps)
    assert worst == pytest.approx(exact_chains.norm(errors).max(), rel=1e-6)
    assert usual == pytest.approx(exact_chains.norm(errors.mean(axis=0)), rel=1e-6)
    np.testing.assert_allclose(law.expect(n_sweeps), pairs[:, *np.triu_indices(6)], atol=1e-12)
    own = np.eye(64)
    for _ in range(n_sweeps):
        law.sweep(own)
    assert law.bias(own) == pytest.approx(worst, rel=1e-6)


@pytest.mark.parametrize("penalty", [0.02, 0.1])
def test_the_optimum_is_that_of_another_solver(penalty):
    trial = make_trial(QUICK[10], 2)
    problem = trial.problem(penalty)
    theta, violation = find_optimum(problem)
    _, lowest = exact_chains.penalised_optimum(problem.data.moments.pair, problem.penalty.weights)
    # By convexity the objective is above its optimum by at most the slope times the distance, in the dual norms.
    assert problem.objective(theta) - lowest <= violation * (np.abs(theta).sum() + 10 * np.log(2) / penalty)
    assert violation <= 1e-6 * penalty


def test_links_across_parties_are_between_democrats_and_republicans():
    votes = load_votes()
    assert votes.is_across.sum() == 2 * 44 * 55
    interactions = np.zeros((100, 100))
    a, b, c = (votes.names.index(name) for name in (NELSON, "Hagel (R-NE)", "Jeffords (I-VT)"))
    for i, j, weight in [(a, b, 1.0), (a, c, 1.0), (b, c, -1.0)]:
        interactions[i, j] = interactions[j, i] = weight
    links = votes.links_across(interactions)
    assert links[a] == links[b] == 1
    assert links.sum() == 2
    graph = votes.graph(PairwiseMRF(votes.table.domain, np.zeros(100), interactions))
    assert {frozenset(edge) for edge in graph.edges} == {
        frozenset((NELSON, "Hagel (R-NE)")),
        frozenset((NELSON, "Jeffords (I-VT)")),
    }
    assert graph.nodes[NELSON]["party"] == "D"
    assert not np.any(votes.nays.mask)
