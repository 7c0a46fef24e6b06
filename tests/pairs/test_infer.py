"""What a table tells of every pair: the same in any order, finite of any table, and right as often as it says."""

import time

import numpy as np
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield._deadline import OutOfTimeError, until
from sparsefield.data import MISSING, Domain, Table
from sparsefield.model import pair_weights
from sparsefield.pairs import infer_table
from support.statistics_ import FALSE_ALARM

# Levels of eight variables, and which of them are ordered.
KINDS = {
    "binary": ((2,) * 8, ()),
    "ordered": ((4,) * 8, range(8)),
    "nominal": ((3,) * 8, ()),
    "mixed": ((2, 4, 3, 2, 4, 3, 2, 4), (1, 4, 7)),
    "missing": ((2,) * 8, ()),
    "mixed, missing": ((2, 4, 3, 2, 4, 3, 2, 4), (1, 4, 7)),
}

# A likelihood ratio is twice the difference of two maxima, each right to this many nats (`_pair_likelihood`).
TOLERANCE = 4e-5


def make_domain(n_levels, ordered):
    p = len(n_levels)
    scores = tuple(tuple(map(float, range(n))) if j in ordered else None for j, n in enumerate(n_levels))
    names, levels = tuple(f"v{j}" for j in range(p)), tuple(tuple(range(n)) for n in n_levels)
    return Domain(names, levels, (0,) * p, scores if len(ordered) else None)


def make_table(codes, n_levels=None, ordered=()):
    codes = np.asarray(codes)
    n_levels = (2,) * codes.shape[1] if n_levels is None else n_levels
    return Table(make_domain(n_levels, ordered), np.asfortranarray(codes.astype(np.uint8)))


def make_codes(kind, n=250, seed=1):
    """Return codes that follow one another."""
    rng, (n_levels, _) = np.random.default_rng(seed), KINDS[kind]
    codes = np.column_stack([np.floor(k * rng.random(n) ** 1.3) for k in n_levels])
    for j in range(1, len(n_levels)):
        follows = rng.random(n) < 0.35
        codes[follows, j] = np.minimum(codes[follows, j - 1], n_levels[j] - 1)
    if "missing" in kind:
        codes[rng.random(codes.shape) < 0.1] = MISSING
    return codes.astype(np.uint8)


def statistics_of(found):
    return stats.chi2.isf(found.p_value, np.maximum(found.degrees, 1))


def assert_same(found, other, order, signs):
    """Check that an inference about variables in another order, some of them turned, says the same of every pair."""
    at = np.array([found.index[frozenset((f"v{order[i]}", f"v{order[j]}"))] for i, j in other.pairs])
    sign = np.array([signs[order[i]] * signs[order[j]] if signs[order[i]] and signs[order[j]] else 1
                     for i, j in other.pairs])  # fmt: skip
    one, two = np.sqrt(statistics_of(found)[at]), np.sqrt(statistics_of(other))
    # The mean of two roots: |sqrt a - sqrt b| is at most sqrt |a - b|, and |a - b| / (2 sqrt a) where that is less. It
    # is divided by (2 + 2 r)^(1/2), r a ratio of errors, those before a last step of this many standard errors.
    last = np.sqrt(TOLERANCE / 2)
    allowed = np.minimum(np.sqrt(TOLERANCE), 2 * TOLERANCE / np.maximum(one, 1e-9)) + one * last / 4
    assert np.all(np.abs(one - two) <= allowed)
    np.testing.assert_array_equal(found.is_edge[at], other.is_edge)
    np.testing.assert_array_equal(found.is_told[at], other.is_told)
    # Estimates are right to that many nats too, in standard errors; several interactions are so in each direction.
    near = np.sqrt(TOLERANCE * found.degrees[at])
    errors = np.maximum(found.error[at], found.detectable[at] / 10)  # that of a norm vanishes with it
    assert np.all(np.abs(found.estimate[at] - sign * other.estimate) <= near * errors)
    low, high = np.where(sign > 0, found.low[at], -found.high[at]), np.where(sign > 0, found.high[at], -found.low[at])
    for own, same in ((low, other.low), (high, other.high)):
        assert np.all(np.abs(own - same) <= 2 * near * errors)
    np.testing.assert_allclose(found.detectable[at], other.detectable, rtol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_columns_and_levels_changes_nothing(kind):
    codes, (n_levels, ordered) = make_codes(kind), KINDS[kind]
    found = infer_table(make_table(codes, n_levels, ordered))
    assert 4 <= found.n_edges <= 12
    for seed in range(12):
        rng = np.random.default_rng(seed)
        order = rng.permutation(8)
        other, signs = codes[rng.permutation(len(codes))], np.ones(8)
        for j, column in enumerate(other.T):
            has_order = n_levels[j] == 2 or j in ordered
            levels = np.arange(n_levels[j])[::-1] if has_order else rng.permutation(n_levels[j])
            if not has_order:
                signs[j] = 0
            elif rng.random() < 0.5:
                levels = levels[::-1]
            else:
                signs[j] = -1
            known = column != MISSING
            column[known] = levels[column[known]]
        turned = make_table(other[:, order], [n_levels[j] for j in order], np.flatnonzero(np.isin(order, ordered)))
        assert_same(found, infer_table(turned), order, signs)


def test_the_order_of_equal_rows_changes_no_bit():
    codes = make_codes("mixed")
    table = make_table(codes, *KINDS["mixed"])
    found = infer_table(table)
    other = infer_table(make_table(codes[np.random.default_rng(1).permutation(len(codes))], *KINDS["mixed"]))
    assert found.table.equals(other.table)


@pytest.mark.parametrize("kind", ["mixed", "missing"])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_number_of_threads_changes_no_bit(kind, grouped):
    table = make_table(make_codes(kind), *KINDS[kind])
    clusters = np.arange(table.n_rows) // 3 if grouped else None
    found = [infer_table(table, clusters=clusters, n_threads=n) for n in (1, 2, 4)]
    for other in found[1:]:
        assert found[0].table.equals(other.table)
        assert found[0].design_effect == other.design_effect


def test_work_ends_when_time_is_up():
    table = make_table(make_codes("binary"))
    with until(time.perf_counter() - 1), pytest.raises(OutOfTimeError):
        infer_table(table)


# --- Weights and clusters ---


def numbers_of(found):
    return {name: getattr(found, name) for name in ("estimate", "error", "low", "high", "p_value", "detectable")}


def assert_equal_numbers(found, other, rtol=0.0):
    for name, values in numbers_of(found).items():
        np.testing.assert_allclose(values, getattr(other, name), rtol=rtol, err_msg=name)


@pytest.mark.parametrize("kind", ["binary", "mixed", "missing"])
def test_the_scale_of_weights_does_not_matter(kind):
    table = make_table(make_codes(kind), *KINDS[kind])
    weights = np.random.default_rng(1).uniform(0.5, 2, table.n_rows)
    found = infer_table(table, weights)
    assert_equal_numbers(found, infer_table(table, 2 * weights))
    assert found.n_effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert found.n_rows == table.n_rows


@pytest.mark.parametrize("kind", ["binary", "mixed", "missing"])
def test_weights_that_count_rows_are_repeated_rows(kind):
    codes = make_codes(kind)
    counts = np.random.default_rng(1).integers(1, 4, len(codes))
    found = infer_table(make_table(codes, *KINDS[kind]), counts.astype(float), counts_rows=True)
    other = infer_table(make_table(np.repeat(codes, counts, axis=0), *KINDS[kind]))
    assert_equal_numbers(found, other)
    assert found.n_effective == other.n_effective == counts.sum()


@pytest.mark.parametrize("kind", ["binary", "mixed"])
def test_weights_that_count_rows_of_clusters_are_repeated_rows(kind):
    codes = make_codes(kind)
    counts, clusters = np.random.default_rng(1).integers(1, 4, len(codes)), np.arange(len(codes)) // 5
    table = make_table(codes, *KINDS[kind])
    found = infer_table(table, counts.astype(float), counts_rows=True, clusters=clusters)
    repeated = make_table(np.repeat(codes, counts, axis=0), *KINDS[kind])
    other = infer_table(repeated, clusters=np.repeat(clusters, counts))
    # Sums are made row by row, and the sizes of steps are rounded otherwise.
    assert_equal_numbers(found, other, rtol=1e-6)
    assert found.design_effect == pytest.approx(other.design_effect, rel=1e-6)


@pytest.mark.parametrize("kind", ["binary", "mixed", "missing"])
def test_clusters_of_one_row_are_equal_weights(kind):
    table = make_table(make_codes(kind), *KINDS[kind])
    found = infer_table(table, clusters=np.arange(table.n_rows))
    assert_equal_numbers(found, infer_table(table, np.ones(table.n_rows)))
    plain = infer_table(table)
    # Estimates are those without; errors are larger where rows vary more than by the model, and never smaller.
    errors = np.maximum(plain.error, plain.detectable / 10)
    assert np.all(np.abs(found.estimate - plain.estimate) <= np.sqrt(TOLERANCE * plain.degrees) * errors)
    assert np.all(found.error >= plain.error * (1 - 1e-6) - np.sqrt(TOLERANCE) * errors)
    assert np.median(found.error / np.maximum(plain.error, 1e-12)) < 1.1


def test_rows_that_are_doubled_in_clusters_have_the_errors_of_rows():
    codes = sf.datasets.make_field(8, strength=(0.3, 0.6), seed=2).sample(1000, method="perfect", seed=1).codes
    plain = infer_table(make_table(codes))
    twice = infer_table(make_table(np.repeat(codes, 2, axis=0)), clusters=np.repeat(np.arange(1000), 2))
    blind = infer_table(make_table(np.repeat(codes, 2, axis=0)))
    np.testing.assert_allclose(blind.error / plain.error, np.sqrt(0.5), rtol=0.02)
    # A variance of 1000 clusters has the standard error sqrt(2 / 1000); with fourth moments of products of residuals
    # of at most 8 times their squared variances, sqrt(7 / 1000). Ratios below one count as one.
    allowed = 5.5 * np.sqrt(7 / 1000) / 2
    ratios = twice.error / plain.error
    assert np.all(ratios > 1 - allowed)
    assert np.all(ratios < 1 + allowed)
    assert np.median(ratios) == pytest.approx(1, abs=0.05)
    assert twice.n_clusters == 1000
    assert twice.design_effect == pytest.approx(2, rel=0.1)


def test_clusters_that_say_the_same_make_pairs_less_sure():
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(60), 10)
    levels = rng.normal(0, 1.5, (60, 6))[clusters]  # of a person in each variable
    codes = (rng.logistic(size=(600, 6)) < levels).astype(np.uint8)
    found = infer_table(make_table(codes), clusters=clusters)
    blind = infer_table(make_table(codes))
    assert found.design_effect > 1.5
    assert np.all(found.p_value >= blind.p_value * 0.9)
    assert (blind.p_value < 0.05).mean() > 2 * (found.p_value < 0.05).mean()


# --- Tables that say little ---


def field_codes(p=5, n=200):
    return sf.datasets.make_field(p, strength=(1, 1.5), seed=1).sample(n, method="perfect", seed=1).codes.copy()


def make_odd_tables():
    codes, rng = field_codes(), np.random.default_rng(0)
    three = rng.integers(0, 3, (200, 4))
    constant, hidden, apart = codes.copy(), codes.copy(), codes.copy()
    constant[:, 2] = 1
    hidden[:, 2] = MISSING
    apart[::2, 2] = apart[1::2, 3] = MISSING
    single = codes.copy()
    single[:, 1] = single[:, 3] = np.arange(200) == 0
    empty = three.copy()
    empty[(empty[:, 0] == 2) & (empty[:, 1] == 2), 1] = 0
    every = tuple(range(5))
    return {
        "a constant column": (constant, None, ()),
        "a column without values": (hidden, None, ()),
        "columns that are never seen together": (apart, None, ()),
        "two rows": ([[0, 1, 0], [1, 0, 0]], None, ()),
        "two equal rows": ([[0, 1, 0], [0, 1, 0]], None, ()),
        "three rows of four levels": (rng.integers(0, 4, (3, 6)), (4,) * 6, ()),
        "a column twice": (np.column_stack([codes, codes[:, 0]]), None, ()),
        "a column three times, once turned": (np.column_stack([codes, codes[:, 0], 1 - codes[:, 0]]), None, ()),
        "a sum modulo two": (np.column_stack([codes, codes[:, 0] ^ codes[:, 1]]), None, ()),
        "a product": (np.column_stack([codes, codes[:, 0] & codes[:, 1]]), None, ()),
        "a sum": (np.column_stack([codes, codes[:, 0] + codes[:, 1]]), (2,) * 5 + (3,), ()),
        "an ordered sum": (np.column_stack([codes, codes[:, 0] + codes[:, 1]]), (2,) * 5 + (3,), (5,)),
        "single answers": (single, None, ()),
        "an empty cell": (empty, (3,) * 4, ()),
        "an empty cell, ordered": (empty, (3,) * 4, every[:4]),
        "levels that do not occur": (three, (5,) * 4, ()),
        "levels that do not occur, ordered": (2 * three, (6,) * 4, every[:4]),
        "a column of levels twice": (np.column_stack([three, three[:, 0]]), (3,) * 5, ()),
        "an ordered column twice": (np.column_stack([three, 2 - three[:, 0]]), (3,) * 5, every),
        "a level for each row": (np.column_stack([codes[:30], np.arange(30)]), (2,) * 5 + (30,), ()),
        "a single column": (codes[:, :1], None, ()),
        "more columns than rows": (rng.integers(0, 2, (10, 24)), None, ()),
    }


ODD = make_odd_tables()


@pytest.mark.parametrize("sampled", ["rows", "weights", "clusters"])
@pytest.mark.parametrize("name", ODD)
def test_odd_tables_have_finite_numbers_or_the_word_that_nothing_can_be_told(name, sampled):
    table = make_table(*ODD[name])
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, table.n_rows) if sampled == "weights" else None
    found = infer_table(table, weights, clusters=np.arange(table.n_rows) // 2 if sampled == "clusters" else None)
    known = found.degrees > 0
    for values in (found.estimate, found.error, found.low, found.high, found.p_value, found.q_value, found.detectable):
        assert np.all(np.isfinite(values[known]))
    assert np.all((found.low <= found.estimate + 1e-12) | ~known)
    assert np.all((found.high >= found.estimate - 1e-12) | ~known)
    assert np.all((found.p_value[known] >= 0) & (found.p_value[known] <= 1))
    # Of a constant nothing is known.
    assert np.all(np.isnan(found.estimate[~known]) & np.isnan(found.p_value[~known]))
    assert np.all(found.q_value[~known] == 1)
    assert not found.is_told[~known].any()
    constant = [i for i, own in enumerate(np.asarray(table.codes).T) if len(set(own[own != MISSING].tolist())) < 2]
    np.testing.assert_array_equal(~known, np.isin(found.pairs, constant).any(axis=1))
    for first, second in found.table.select("first", "second").iter_rows():
        assert found.describe(first, second).endswith(".")
    for of_all in (found.nodes, found.differences()):
        assert not any(of_all[column].is_nan().any() for column in of_all.columns if of_all[column].dtype.is_float())


def test_levels_that_do_not_occur_change_nothing_but_the_weights_of_their_table():
    codes = np.random.default_rng(2).integers(0, 3, (200, 4))
    one, other = infer_table(make_table(codes, (3,) * 4)), infer_table(make_table(2 * codes, (6,) * 4))
    np.testing.assert_allclose(one.p_value, other.p_value, rtol=1e-9)
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-9)


def test_ordered_levels_of_another_unit_have_the_same_weights():
    codes = make_codes("ordered")
    domain = make_domain(*KINDS["ordered"])
    tenfold = Domain(domain.names, domain.levels, domain.reference, tuple((0.0, 10.0, 20.0, 30.0) for _ in range(8)))
    one, other = (infer_table(Table(own, np.asfortranarray(codes))) for own in (domain, tenfold))
    assert_same(one, other, np.arange(8), np.ones(8))


def test_a_column_twice_is_one_edge_and_leaves_others_untold():
    codes = field_codes()
    found = infer_table(make_table(np.column_stack([codes, codes[:, 0]])))
    assert found.is_edge[found.index[frozenset(("v0", "v5"))]]
    told = {tuple(pair) for pair in found.pairs[found.is_told].tolist()}
    for other in range(1, 5):
        assert (0, other) not in told
        assert found.describe("v0", f"v{other}").endswith("v0 repeats v5.")
    assert (1, 4) in told  # what has nothing to do with it is told


# --- Calibration ---

N_TABLES, N_ROWS, N_VARIABLES = 60, 300, 10


def draw_table(kind, seed, *, has_edges=True):
    """Return rows of a random field, a quarter of whose pairs have an edge, and its weights."""
    if kind == "binary":
        share = 0.25 if has_edges else 0.0
        field = sf.datasets.make_field(N_VARIABLES, edge_probability=share, strength=(0.4, 1.0), seed=seed)
        return field.sample(N_ROWS, method="perfect", seed=seed), pair_weights(field.domain, field.interactions)
    rng = np.random.default_rng(seed)
    domain = make_domain((3,) * N_VARIABLES, range(N_VARIABLES))
    i, j = np.triu_indices(N_VARIABLES, 1)
    theta = np.zeros((N_VARIABLES,) * 2)
    theta[i, j] = np.where(rng.random(len(i)) < 0.25 * has_edges, rng.uniform(0.15, 0.4, len(i)), 0.0)
    interactions = np.kron(theta + theta.T, np.outer([1.0, 2.0], [1.0, 2.0]))
    main = rng.normal(-0.5, 0.3, domain.n_slots) - 0.4 * np.repeat((theta + theta.T).sum(axis=1), 2) * np.tile(
        [1, 2], 10
    )
    field = sf.PairwiseMRF(domain, main, interactions)
    return field.sample(N_ROWS, method="perfect", seed=seed), pair_weights(domain, interactions)


def assert_rate(shares, rate):
    """Check the mean of what happens in independent tables against its rate, by the spread between these."""
    shares = np.array(shares)
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    allowed = stats.t.isf(FALSE_ALARM / 2, len(shares) - 1) * error
    assert abs(shares.mean() - rate) < allowed, (shares.mean(), rate, allowed)


@pytest.mark.parametrize("kind", ["binary", "ordered"])
def test_intervals_and_tests_are_right_as_often_as_they_say(kind):
    missed, missed_zeros, rejected, falsely = [], [], [], []
    for seed in range(N_TABLES):
        table, weights = draw_table(kind, seed)
        found = infer_table(table)
        truth = weights[tuple(found.pairs.T)]
        is_missed = (truth < found.low) | (truth > found.high)
        missed.append(is_missed[truth != 0].mean())
        missed_zeros.append(is_missed[truth == 0].mean())
        rejected.append((found.p_value[truth == 0] < 0.05).mean())
        falsely.append((found.is_edge & (truth == 0)).sum() / max(1, found.n_edges))
    assert_rate(missed, 0.05)
    assert_rate(missed_zeros, 0.05)
    assert_rate(rejected, 0.05)
    # No more than a tenth of edges is false; Student's bound from above.
    bound = stats.t.isf(FALSE_ALARM, N_TABLES - 1) * np.std(falsely, ddof=1) / np.sqrt(N_TABLES)
    assert np.mean(falsely) < 0.1 + bound


@pytest.mark.parametrize("kind", ["binary", "ordered"])
def test_few_tables_of_independent_variables_have_an_edge(kind):
    rejected, n_found = [], 0
    for seed in range(N_TABLES):
        found = infer_table(draw_table(kind, 1000 + seed, has_edges=False)[0])
        rejected.append((found.p_value < 0.05).mean())
        n_found += found.n_edges > 0
    assert n_found <= stats.binom.isf(FALSE_ALARM, N_TABLES, 0.1)
    assert_rate(rejected, 0.05)


def test_detectable_weights_are_found_four_times_out_of_five():
    # One pair of weight w among 28: the p-value that decides is that of a first discovery, or a second.
    p, n, n_found, asked = 8, 300, 0, []
    interactions = np.zeros((p, p))
    interactions[0, 1] = interactions[1, 0] = 0.85
    field = sf.PairwiseMRF.binary(-interactions.sum(axis=1) / 2, interactions)
    for seed in range(100):
        found = infer_table(field.sample(n, method="perfect", seed=seed))
        n_found += bool(found.is_edge[0])
        asked.append(found.detectable[0])
    # How often a weight of w is found where one of d would be four times out of five: both are in units of an error.
    cut = stats.norm.isf(0.1 / 28 / 2)
    power = stats.norm.sf(cut - (cut - stats.norm.isf(0.8)) * 0.85 / np.median(asked))
    low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 100, power)
    assert low <= n_found <= high


def test_pairs_of_too_many_levels_are_refused_at_once():
    rng = np.random.default_rng(1)
    table = sf.encode({"a": rng.choice(20, 100), "b": rng.choice(2, 100), "c": rng.choice(13, 100)})
    with pytest.raises(sf.TableError, match=r"'a' and 'c' have 20 and 13 levels .* these have 228: merge levels"):
        infer_table(table)
    ordered = sf.encode({"a": rng.choice(20, 100), "b": rng.choice(2, 100), "c": rng.choice(13, 100)}, ordinal=["a"])
    assert len(infer_table(ordered).pairs) == 3


def test_equal_weights_and_clusters_of_one_row_change_nothing():
    table = make_table(field_codes())
    plain = infer_table(table)
    for how in (
        {"weights": np.full(table.n_rows, 3.0)},
        {"clusters": np.random.default_rng(1).permutation(table.n_rows)},
    ):
        found = infer_table(table, **how)
        for name in ("estimate", "low", "high", "p_value", "q_value"):
            np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
