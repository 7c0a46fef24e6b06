"""Levels that no row shows: what half a row of each makes of moments, and of fits with free main effects."""

import itertools

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import Rows, Unseen, find_unseen, weighted_moments
from sparsefield.fitting import Learner, Options
from sparsefield.objective import L1
from sparsefield.optimality._entropy_bound import entropy_of
from sparsefield.pseudolikelihood import PseudoLikelihoodLoss
from sparsefield.tables import read_rows
from support import naive
from support.problems import theta_of

# Numbers of levels, reference, and the levels that rows show, variable by variable.
CASES = {
    "binary, nothing unseen": ((2, 2, 2), "first", ((0, 1), (0, 1), (0, 1))),
    "binary, always the reference": ((2, 2, 2), "first", ((0,), (0, 1), (0, 1))),
    "binary, never the reference": ((2, 2, 2), "first", ((1,), (0, 1), (0, 1))),
    "binary, two constants": ((2, 2, 2), "first", ((0,), (1,), (0, 1))),
    "binary, no reference": ((2, 2, 2), None, ((0,), (0, 1), (1,))),
    "levels": ((4, 3, 2), "first", ((0, 2), (0, 1, 2), (0, 1))),
    "levels, never the reference": ((4, 3, 2), "last", ((0, 2), (0, 2), (0, 1))),
    "levels, a constant": ((3, 4, 2), "first", ((1,), (0, 1, 3), (0, 1))),
    "levels, no reference": ((3, 4, 2), None, ((1,), (0, 1, 3), (0, 1))),
}


def make_case(name, n_rows=11):
    """Return a table with only some of its levels, and what the naive functions know of it."""
    n_levels, reference, seen = CASES[name]
    codes = {"first": (0,) * 3, "last": tuple(n - 1 for n in n_levels), None: None}[reference]
    domain = sf.Domain(("a", "b", "c"), tuple(tuple(range(n)) for n in n_levels), codes)
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.choice(own, n_rows) for own in seen]).astype(np.uint8)
    rows[:4] = np.column_stack([np.resize(own, 4) for own in seen])  # each of them is there
    unseen = [[k for k in range(n) if k not in own] for n, own in zip(n_levels, seen, strict=True)]
    return sf.Table(domain, rows), naive.slots(n_levels, codes), unseen


def mix(rows, weights, known, unseen, n):
    """Return the moments of rows each of whose variables is replaced, independently, by a level that is never seen."""
    total = np.zeros((len(known), len(known)))
    for row, weight in zip(rows, weights, strict=True):
        ways = [
            [(value, n / (n + len(own) / 2)), *((k, 0.5 / (n + len(own) / 2)) for k in own)]
            for value, own in zip(row, unseen, strict=True)
        ]
        for way in itertools.product(*ways):
            changed, probability = [value for value, _ in way], np.prod([q for _, q in way])
            total += weight * probability * np.array(naive.pair_counts([changed], known))
    return total / sum(weights)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scale", [None, 3.0, 1e-3], ids=["no weights", "counts", "shares"])
def test_moments_are_those_of_rows_that_may_have_the_level_instead(name, scale):
    table, known, unseen = make_case(name)
    weights = None if scale is None else scale * np.random.default_rng(2).uniform(0.5, 1.5, table.n_rows)
    moments = sf.data.moments_of_table(table) if weights is None else weighted_moments(table, weights)
    # Weights are counts where they add up to more than the rows.
    n = table.n_rows if scale in (None, 1e-3) else weights.sum()
    found = find_unseen(table, weights)
    assert found == Unseen(table.domain, tuple((i, k) for i, own in enumerate(unseen) for k in own), n)
    filled = found.fill(moments)
    plain = np.ones(table.n_rows) if weights is None else weights
    # Sums of at most 11 rows of 8 ways: no more than 1000 roundings of numbers up to one.
    expected = mix(table.codes.tolist(), plain, known, unseen, n)
    np.testing.assert_allclose(filled.pair, expected, rtol=0, atol=1000 * 2.0**-53)
    np.testing.assert_array_equal(filled.main, np.diagonal(filled.pair))
    assert filled.n == moments.n
    kept, added = found.shares()
    np.testing.assert_allclose(kept * moments.main + added, filled.main, rtol=0, atol=1000 * 2.0**-53)


@pytest.mark.parametrize("name", CASES)
def test_what_is_alone_is_independent_of_all_others(name):
    table, _, unseen = make_case(name)
    found = find_unseen(table)
    filled = found.fill(sf.data.moments_of_table(table))
    independent = np.outer(filled.main, filled.main)
    variables = table.domain.slot_variables
    is_apart = variables[:, None] != variables
    distance = np.where(is_apart, np.abs(filled.pair - independent), 0.0)
    assert distance[found.is_alone].max(initial=0.0) < 1000 * 2.0**-53
    # Those of levels that rows show beside others are not, in these tables.
    others = (distance > 1e-3).any(axis=1)
    assert not (others & found.is_alone).any()
    n_shown = table.domain.n_levels - [len(own) for own in unseen]
    expected = [k in unseen[i] or n_shown[i] == 1 for i, k in zip(variables, table.domain.slot_levels, strict=True)]
    np.testing.assert_array_equal(found.is_alone, expected)


def test_nothing_is_filled_where_every_level_is_seen():
    table, _, _ = make_case("binary, nothing unseen")
    moments = sf.data.moments_of_table(table)
    found = find_unseen(table)
    assert found.fill(moments) is moments
    kept, added = found.shares()
    assert (kept == 1).all()
    assert not added.any()
    assert not found.is_alone.any()
    assert str(found) == ""


def test_a_level_behind_missing_values_is_unseen():
    codes = np.array([[0, 1], [0, 255], [255, 0]], dtype=np.uint8)
    found = find_unseen(sf.Table(sf.Domain.binary(2), codes))
    assert found.levels == ((0, 1),)
    assert str(found).startswith("No row has 'x0=1': so that free main effects are finite, ")


def constant_table(value, n=40, seed=1):
    """Return rows of two columns that go together, and one between them that has one value only."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.5
    second = first ^ (rng.random(n) < 0.2)
    return sf.encode(np.column_stack([first, np.full(n, value), second]).astype(int), domain=sf.Domain.binary(3))


# Steps of the proximal gradient have the length 1 / L, with L = m / 4 for m = 6 statistics that are 0 or 1.
FITS = {
    "newton": lambda alpha, **options: sf.SparseMRF(alpha, solver=sf.Newton(tol=1e-7), random_state=1, **options),
    "proximal": lambda alpha, **options: sf.SparseMRF(
        alpha, solver=sf.Proximal(schedule="exact", step_size=4 / 6, max_iter=10_000, tol=1e-7), **options
    ),
    "pseudo-likelihood": lambda alpha, **options: sf.PseudoLikelihood(alpha, tol=1e-7, **options),
}


@pytest.mark.parametrize("alpha", [0.0005, 0.02, 0.5])
@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("way", FITS)
def test_a_constant_column_has_a_finite_main_effect_and_no_edge(way, value, alpha):
    table = constant_table(value)
    fit = FITS[way](alpha).fit(table).fit_
    assert fit.status.code == "converged"
    assert f"No row has 'x1={1 - value}': " in fit.status.sentence
    assert not fit.model.interactions[1].any()
    # Half a row beside 40 has the other level: its odds are 1 to 80. A gradient of at most tol, halved in the
    # pseudo-likelihood, moves log-odds by that over the variance, and terms of higher order.
    share = 1 / 81
    allowed = 2 * 2e-7 / (share * (1 - share))
    assert fit.model.main[1] == pytest.approx((2 * value - 1) * np.log(80), abs=allowed)
    # The others are what they are without it, but for that tolerance: their least variance is above 1/100.
    others = sf.Table(sf.Domain.binary(2), table.codes[:, [0, 2]])
    alone = FITS[way](alpha).fit(others)
    assert "No row" not in alone.status_.sentence
    np.testing.assert_allclose(theta_of(fit)[np.ix_([0, 2], [0, 2])], theta_of(alone), rtol=0, atol=2 * 2e-7 * 100)


@pytest.mark.parametrize("way", FITS)
def test_penalised_main_effects_need_no_half_row(way):
    table = constant_table(1)
    penalised = FITS[way](0.05, penalize_main=True).fit(table)
    assert "half a row" not in penalised.status_.sentence
    assert np.isfinite(theta_of(penalised)).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", [sf.Newton, sf.Proximal])
@pytest.mark.parametrize("alpha", [0.0005, 0.05])
def test_draws_find_a_finite_main_effect_too(solver, alpha):
    steps = solver(schedule="perfect", max_iter=20)
    mrf = sf.SparseMRF(alpha, solver=steps, random_state=1).fit(constant_table(0, 400))
    assert np.isfinite(theta_of(mrf)).all()
    assert mrf.main_effects_[1] < 0
    # The pair is in a draw with probability 1/801 at most. That 2000 draws show it with a frequency that is off by 0.05
    # has probability exp(-2000 * 0.05^2 / (2 (1/801 + 0.05 / 3))) < 1e-60, by Bernstein's inequality.
    if alpha == 0.05:
        assert not mrf.interactions_[1].any()


@pytest.mark.parametrize("way", ["newton", "proximal"])
@pytest.mark.parametrize("value", [0, 1])
def test_a_constant_column_with_missing_values_is_finite_too(way, value):
    table = constant_table(value)
    codes = table.codes.copy()
    codes[:10, 1] = 255
    codes[5:15, 2] = 255
    fit = FITS[way](0.02).fit(sf.Table(table.domain, codes)).fit_
    assert fit.status.code == "converged"
    assert f"No row has 'x1={1 - value}': " in fit.status.sentence
    assert not fit.model.interactions[1].any()
    # A quarter of its cells have the other level as often as the model says, and half a row is beside 40: the
    # probability q is (1 - 1/81) q / 4 + 1/81. As above, the tolerance counts over the variance; the curvature has less
    # than a quarter taken from it by missing values.
    q = 1 / 81 / (1 - 80 / 81 / 4)
    allowed = 2 * 2e-7 / (0.75 * q * (1 - q))
    assert fit.model.main[1] == pytest.approx((1 - 2 * value) * np.log(q / (1 - q)), abs=allowed)


@pytest.mark.parametrize("name", CASES)
def test_the_pseudo_likelihood_is_that_of_rows_that_may_have_the_level_instead(name):
    table, known, unseen = make_case(name)
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 1.5, table.n_rows)
    found = find_unseen(table, weights)
    loss = PseudoLikelihoodLoss(table, weights, found)
    # Levels that are never seen have no interactions.
    theta = rng.normal(size=(len(known), len(known)))
    variables = table.domain.slot_variables
    is_out = (variables[:, None] == variables) | found.is_alone[:, None] | found.is_alone
    theta = np.where(is_out & ~np.eye(len(known), dtype=bool), 0.0, theta + theta.T)
    main, interactions = np.diagonal(theta).tolist(), (theta - np.diag(np.diagonal(theta))).tolist()
    n_levels, n = table.domain.n_levels.tolist(), found.n
    total = 0.0
    for row, weight in zip(table.codes.tolist(), weights, strict=True):
        for i, own in enumerate(unseen):
            q = naive.conditional(i, tuple(row), n_levels, table.domain.reference, main, interactions)
            rows = n + len(own) / 2
            shown = [(row[i], n / rows), *((k, 0.5 / rows) for k in own)]
            total -= weight * sum(share * np.log(q[k]) for k, share in shown)
    value, gradient = loss.evaluate(theta)
    assert value == pytest.approx(total / weights.sum() / 2, rel=1e-12)
    # And the gradient is that of the loss, where there is something to learn.
    direction = np.where(is_out & ~np.eye(len(known), dtype=bool), 0.0, rng.normal(size=theta.shape))
    direction += direction.T
    ahead, behind = (loss.evaluate(theta + side * 1e-5 * direction)[0] for side in (1, -1))
    assert (ahead - behind) / 2e-5 == pytest.approx(np.triu(gradient * direction).sum(), abs=1e-7)


@pytest.mark.parametrize("name", [name for name in CASES if "nothing" not in name])
@pytest.mark.parametrize("way", ["newton", "pseudo-likelihood"])
@pytest.mark.parametrize("penalty", ["l1", "group"])
def test_levels_that_are_never_seen_beside_strong_edges_leave_fits_finite(name, way, penalty):
    # Copies of a column: without the half row the frequencies of levels would be for interactions alone to explain.
    table, _, unseen = make_case(name, n_rows=40)
    codes = table.codes.copy()
    n_levels = np.append(table.domain.n_levels, table.domain.n_levels[0])
    reference = None if table.domain.reference is None else (*table.domain.reference, table.domain.reference[0])
    domain = sf.Domain(tuple("abcd"), tuple(tuple(range(k)) for k in n_levels), reference)
    copied = sf.Table(domain, np.column_stack([codes, codes[:, 0]]))
    known = naive.slots(n_levels.tolist(), reference)
    expected = np.diagonal(mix(copied.codes.tolist(), np.ones(40), known, [*unseen, unseen[0]], 40))
    for alpha in (0.0005, 0.02):
        mrf = FITS[way](alpha).set_params(penalty=penalty).fit(copied)
        assert mrf.status_.code == "converged"
        # A level in half a row beside 40 is in no pair more often than that: the likelihood has no edge above it. Below
        # it there can be one, where main effects make up for strong edges of the other levels. Groups have interactions
        # of all levels, or of none.
        if penalty == "l1" and (way == "pseudo-likelihood" or alpha > 1 / 81):
            assert not mrf.interactions_[find_unseen(copied).is_alone].any()
        # Free main effects have a gradient of at most tol, which is 1e-7: the model has levels that are never seen as
        # often as half a row does, 1/81 of the time. No parameter is on its way to infinity.
        if way == "newton":
            left = mrf.model_.moments().main - expected
        else:
            loss = PseudoLikelihoodLoss(copied, np.ones(40), find_unseen(copied))
            left = np.diagonal(loss.evaluate(theta_of(mrf))[1])
        assert np.abs(left).max() <= 1e-7


@pytest.mark.parametrize("n_rows", [1, 2, 12])
@pytest.mark.parametrize("reference", [0, None])
def test_few_rows_of_many_levels_leave_frequencies_and_fits_what_they_are(n_rows, reference):
    # Of 40 levels at least 28 are unseen: more than there are halves of 12 rows.
    n_levels = (5, 40)
    domain = sf.Domain(("a", "b"), tuple(map(tuple, map(range, n_levels))), None if reference is None else (0, 0))
    rows = np.random.default_rng(1).integers(n_levels, size=(n_rows, 2)).astype(np.uint8)
    table = sf.Table(domain, rows)
    filled = find_unseen(table).fill(sf.data.moments_of_table(table))
    assert filled.main.min() > 0
    for i, n in enumerate(n_levels):
        counts = np.bincount(rows[:, i], minlength=n)
        expected = np.where(counts == 0, 0.5, counts) / (n_rows + (counts == 0).sum() / 2)
        of = domain.slot_variables == i
        # Each is made of three roundings of numbers up to one.
        np.testing.assert_allclose(filled.main[of], expected[domain.slot_levels[of]], rtol=0, atol=3 * 2.0**-53)
    # No pair can be missed by one: main effects alone are left.
    for fit in (
        sf.learn(table, 1.0, solver=sf.Newton(tol=1e-7)).model,
        sf.PseudoLikelihood(1.0, tol=1e-7).fit(table).model_,
    ):
        assert np.isfinite(theta_of(fit)).all()
        assert not fit.interactions.any()


@pytest.mark.parametrize("is_incomplete", [False, True])
@pytest.mark.parametrize("init", ["auto", "zero"])
@pytest.mark.parametrize("main", [1.0, 0.0])
def test_the_penalty_decides_whether_levels_have_half_a_row_and_certify_agrees(main, init, is_incomplete):
    table = constant_table(0)
    codes = table.codes.copy()
    codes[:4, 2] = np.where(is_incomplete, 255, codes[:4, 2])
    table = sf.Table(table.domain, codes)
    # The option says the opposite of the penalty that is given.
    options = {"penalize_main": main == 0, "solver": sf.Newton(tol=1e-7), "init": init}
    fit = sf.learn(table, penalty=L1(table.domain, 0.02, main), **options)
    assert fit.status.code == "converged"
    assert ("half a row" in fit.status.sentence) == (main == 0)
    # What is left of the subgradient is at most tol, but for the rounding of sums of 8 states and 40 rows.
    assert sf.certify(fit, table).optimality.subgradient < 1.01e-7
    # One that decides for itself is the same as the option.
    same = sf.learn(table, 0.02, **{**options, "penalize_main": main == 1})
    np.testing.assert_array_equal(theta_of(fit), theta_of(same))
    # A table that is taken once can be learned with both.
    learner = Learner(read_rows(table), Options(**options))
    for penalty in (None, L1(table.domain, 0.02, main)):
        again = learner.learn(0.02, penalty=penalty)
        assert ("half a row" in again.status.sentence) == ((main == 1) if penalty is None else (main == 0))
    np.testing.assert_array_equal(theta_of(fit), theta_of(again))


@pytest.mark.parametrize("way", ["newton", "pseudo-likelihood"])
def test_a_penalty_of_zero_leaves_main_effects_free(way):
    fit = FITS[way](0.0, penalize_main=True).fit(constant_table(0)).fit_
    assert fit.status.code == "converged"
    assert "half a row" in fit.status.sentence


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, 2, 5, 20])
@pytest.mark.parametrize(
    ("n_levels", "n_seen"), [((2, 2, 2), (1, 1, 2)), ((7, 4, 2), (6, 3, 1)), ((9, 9, 1), (4, 8, 1))]
)
def test_half_rows_take_nothing_from_the_entropy_of_the_data(n_levels, n_seen, n_rows, weighted):
    rng = np.random.default_rng(n_rows)
    rows = rng.integers(n_seen, size=(n_rows, 3)).astype(np.uint8)
    domain = sf.Domain(("a", "b", "c"), tuple(map(tuple, map(range, n_levels))), None)
    table, weights = sf.Table(domain, rows), rng.uniform(0.5, 3, n_rows) if weighted else np.ones(n_rows)
    found = find_unseen(table, weights)
    kept, added = found.shares()
    law = dict.fromkeys(itertools.product(*map(range, n_levels)), 0.0)
    for row, weight in zip(rows.tolist(), weights / weights.sum(), strict=True):
        ways = []
        for i, value in enumerate(row):
            own = domain.slot_variables == i
            ways.append((kept[own] * (domain.slot_levels[own] == value) + added[own]).tolist())
        for state in law:
            law[state] += weight * np.prod([ways[i][k] for i, k in enumerate(state)])
    shares = np.array(list(law.values()))
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert shares.min() >= 0
    shares = shares[shares > 0]
    assert -(shares * np.log(shares)).sum() >= entropy_of(Rows(table, weights)) - 1e-12
