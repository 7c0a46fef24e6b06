"""Regressions on features of neighbours, against a general optimiser, and for what they must not depend on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, special

import sparsefield as sf
from sparsefield.data import MISSING
from sparsefield.inference import Cpu
from sparsefield.objective import L1, Group
from sparsefield.pseudolikelihood import REFITS, NodeRefits
from sparsefield.pseudolikelihood._multinomial import _log_sum_exp
from sparsefield.pseudolikelihood._nodewise import _find_distinct
from sparsefield.selection.choices._degrees_of_freedom import Parameters

N = 300
LEVELS = (3, 2, 4, 3)
SCORES = ((0.0, 1.0, 3.0), None, None, (0.0, 1.0, 2.0))
EDGES = ((0, 2), (0, 3), (1, 2))
# A regression ends where a step gains 0.001 nats for each of its parameters, of which there are 23 here at most; it
# comes from a Newton step, so that less than that is left. Four of them.
LAST = 4 * 23 * 1e-3


def make_codes():
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, k, N) for k in LEVELS])
    codes[:, 2] = np.where(rng.random(N) < 0.5, codes[:, 0] + codes[:, 1], codes[:, 2])
    codes[:, 3] = np.where(rng.random(N) < 0.4, codes[:, 0], codes[:, 3])
    return codes.astype(np.uint8)


def make_table(codes, scores=None, reference=(0, 0, 0, 0)):
    domain = sf.Domain(tuple("abcd"), tuple(tuple(range(k)) for k in LEVELS), reference, scores)
    return sf.Table(domain, np.asfortranarray(codes))


def make_model(domain, edges=EDGES):
    """Return a field with these edges, of random interactions that its penalty can describe."""
    theta = np.zeros((domain.n_slots, domain.n_slots))
    rng = np.random.default_rng(5)
    for i, j in edges:
        own = np.ix_(domain.slot_variables == i, domain.slot_variables == j)
        theta[own] = rng.normal(size=theta[own].shape)
    return sf.PairwiseMRF(domain, np.zeros(domain.n_slots), theta + theta.T)


def refit(table, penalty=None, weights=None, model=None, policy=REFITS):
    model = make_model(table.domain) if model is None else model
    penalty = Group(table.domain, 0.1) if penalty is None else penalty
    return NodeRefits(table, weights, model, seed=1, backend=Cpu(), penalty=penalty, policy=policy).of(model)


def maximise_naively(codes, scores):
    """Return the sum of the maximal log-likelihoods, less the prior, with one block of slopes for each neighbour."""
    total = 0.0
    contrasts = [make_contrasts(k, own) for k, own in zip(LEVELS, scores or (None,) * 4, strict=True)]
    for i in range(4):
        neighbours = [b if a == i else a for a, b in EDGES if i in (a, b)]
        mine = contrasts[i]
        slots = [np.eye(LEVELS[i])[:, 1:], *(np.kron(mine, np.eye(contrasts[j].shape[1])) for j in neighbours)]
        sizes = np.cumsum([0] + [own.shape[1] for own in slots])

        def exponents(theta, i=i, neighbours=neighbours, slots=slots, sizes=sizes):
            found = np.tile(slots[0] @ theta[: sizes[1]], (N, 1))
            for k, j in enumerate(neighbours):
                block = (slots[k + 1] @ theta[sizes[k + 1] : sizes[k + 2]]).reshape(LEVELS[i], -1)
                found = found + contrasts[j][codes[:, j]] @ block.T
            return found

        def loss(theta, i=i, exponents=exponents, start=sizes[1]):
            own = special.log_softmax(exponents(theta), axis=1)
            return -own[np.arange(N), codes[:, i]].sum() + 0.01 / 2 * (theta[start:] ** 2).sum()

        best = optimize.minimize(loss, np.zeros(sizes[-1]), method="BFGS", options={"gtol": 1e-5, "maxiter": 2000})
        total += -best.fun + 0.01 / 2 * (best.x[sizes[1] :] ** 2).sum()
    return total


def make_contrasts(k, scores):
    """Return zero-sum features of variance 1/4: the score, or an orthogonal basis of what adds up to zero."""
    if scores is not None:
        own = np.array(scores) - np.mean(scores)
        return own[:, None] / np.linalg.norm(own) * np.sqrt(k) / 2
    values, vectors = np.linalg.eigh(np.eye(k) - 1 / k)
    return vectors[:, values > 0.5] * np.sqrt(k) / 2


@pytest.mark.parametrize("scores", [None, SCORES])
def test_neighbours_have_the_parameters_of_their_group(scores):
    codes = make_codes()
    # The prior of main effects has a precision of 1e-6, which costs less than 1e-4 here.
    assert N * refit(make_table(codes, scores)) == pytest.approx(maximise_naively(codes, scores), abs=LAST)


@pytest.mark.parametrize("scores", [None, SCORES])
def test_a_curvature_that_is_not_held_leads_to_the_same(scores):
    table = make_table(make_codes(), scores)
    held = N * refit(table)
    assert N * refit(table, policy=replace(REFITS, most_held=0)) == pytest.approx(held, abs=LAST)


def test_neither_references_nor_the_order_of_levels_matter():
    codes = make_codes()
    known = refit(make_table(codes))
    for reference in ((2, 1, 3, 0), None):
        table = make_table(codes, None, reference)
        assert refit(table, Group(table.domain, 0.1)) == pytest.approx(known, rel=1e-9)
    orders = [np.random.default_rng(k).permutation(k) for k in LEVELS]
    turned = np.column_stack([order[own] for order, own in zip(orders, codes.T, strict=True)]).astype(np.uint8)
    assert refit(make_table(turned)) == pytest.approx(known, rel=1e-9)


def test_weights_are_rows():
    codes, weights = make_codes(), np.random.default_rng(2).integers(0, 4, N).astype(float)
    rows = np.repeat(codes, weights.astype(int), axis=0)
    assert refit(make_table(codes, SCORES), weights=weights) == pytest.approx(refit(make_table(rows, SCORES)), rel=1e-9)


def test_single_parameters_of_ordered_levels_are_kept_one_by_one():
    table = make_table(make_codes(), SCORES)
    penalty = L1(table.domain, 0.1)
    # Whole edges in either case: of a and d one slope, and of a or b and c as many as c has levels less one. The prior
    # is another: its cost, of slopes whose squares add up to less than 500, is below 2.5 nats.
    assert N * refit(table, penalty) == pytest.approx(N * refit(table), abs=2.5 + LAST)
    model = make_model(table.domain)
    assert Parameters(penalty, table).count_chosen(model) == 3 + 1 + 3
    assert Parameters(Group(table.domain, 0.1), table).count_chosen(model) == 3


def test_parameters_of_groups_are_those_that_rows_can_tell():
    codes, whole = make_codes(), Group(make_table(make_codes()).domain, 0.1)
    model, ordered = make_model(make_table(codes).domain), make_table(codes, SCORES)
    assert Parameters(whole, make_table(codes)).count_interactions(model) == 2 * 3 + 2 * 2 + 1 * 3
    own = Parameters(Group(ordered.domain, 0.1), ordered)
    assert own.count_interactions(make_model(ordered.domain)) == 1 * 3 + 1 * 1 + 1 * 3
    assert own.count_free(make_model(ordered.domain)) == 2 + 1 + 3 + 2 + 7
    codes[codes[:, 2] == 3, 2] = 0  # a level of c that no row shows
    assert Parameters(whole, make_table(codes)).count_interactions(model) == 2 * 2 + 2 * 2 + 1 * 2
    # Where main effects are penalised they count where they are not zero: here none is, but for those of means.
    penalised = Parameters(Group(whole.domain, 0.1, 1.0), make_table(codes))
    alone = sf.PairwiseMRF(whole.domain, np.zeros(8), np.zeros((8, 8)))
    assert penalised.count(alone) == 0
    assert Parameters(whole, make_table(codes)).count(alone) == 8


@pytest.mark.parametrize("n_levels", [1, 2, 5])
def test_sums_of_exponentials_are_those_of_scipy(n_levels):
    exponents = 10 * np.random.default_rng(1).normal(size=(300, n_levels))
    exponents[::3] = exponents[::3, :1]  # several that are largest
    assert np.array_equal(_log_sum_exp(exponents), special.logsumexp(exponents, axis=1, keepdims=True))


@pytest.mark.parametrize("kind", [L1, Group])
def test_what_no_row_shows_tells_nothing(kind):
    codes = make_codes()
    codes[codes[:, 2] == 3, 2] = 0
    table = make_table(codes)
    levels = tuple(tuple(range(k)) for k in (3, 2, 3, 3))
    narrow = sf.Table(sf.Domain(tuple("abcd"), levels, (0, 0, 0, 0)), table.codes)
    found, known = (refit(own, kind(own.domain, 0.1), model=make_model(own.domain, ())) for own in (table, narrow))
    assert found == pytest.approx(known, rel=1e-9)
    codes[:, 1] = MISSING
    filler = make_model(table.domain, ())
    assert np.isfinite(refit(make_table(codes), kind(table.domain, 0.1), model=filler))


def test_many_neighbours_are_told_apart():
    codes = np.random.default_rng(1).integers(0, 200, (50, 12)).astype(np.uint8)
    codes[25:] = codes[:25]
    first, ways = _find_distinct(codes, np.full(12, 200))
    assert len(first) == 25
    assert np.array_equal(codes[first][ways], codes)


def test_missing_neighbours_are_drawn_and_missing_outcomes_left_out():
    codes = make_codes()
    whole = refit(make_table(codes, SCORES))
    codes[::10, 1] = MISSING
    table = make_table(codes, SCORES)
    found = refit(table, weights=None)
    # A tenth of the values of b is not told any more, which is log 2 at most each; c loses no more than it got by b.
    assert abs(found - whole) <= 0.1 * np.log(2) + 0.1 * np.log(4)
