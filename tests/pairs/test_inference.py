"""What an inference says: its table, its sentences, and sums and differences of weights with their intervals."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import sparsefield as sf
from sparsefield.data import MISSING, Domain, Table
from sparsefield.pairs import UNTOLD, infer_table
from sparsefield.pairs._shrunken import Shrunken
from support import naive_pairs as naive
from support.inferences import make_inference
from support.statistics_ import FALSE_ALARM


def binary(codes):
    return Table(sf.Domain.binary(np.shape(codes)[1]), np.asfortranarray(np.asarray(codes, dtype=np.uint8)))


def levels(codes, n_levels):
    names = tuple(f"x{j}" for j in range(len(n_levels)))
    domain = Domain(names, tuple(tuple(range(n)) for n in n_levels), (0,) * len(n_levels))
    return Table(domain, np.asfortranarray(np.asarray(codes, dtype=np.uint8)))


def some_codes(p=4, n=300, seed=1):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n, p))
    for j in range(1, p):
        follows = rng.random(n) < 0.3
        codes[follows, j] = codes[follows, j - 1]
    return codes


# --- The table ---


def test_the_table_has_the_surest_pairs_first():
    found = infer_table(binary(np.column_stack([some_codes(), np.ones(300, dtype=int)])))
    table = found.table
    assert table.columns == ["first", "second", "estimate", "low", "high", "p", "q", "edge", "detectable", "verdict"]
    known = table.filter(pl.col("p").is_not_null())
    assert len(table) == 10
    assert table.head(6).equals(known)
    assert known["p"].is_sorted()
    # Of a constant there is nothing but the word.
    rest = table.tail(4)
    assert rest.select("estimate", "low", "high", "p", "detectable").null_count().row(0) == (4,) * 5
    assert set(rest["verdict"]) == {"cannot be told"}
    assert rest["q"].to_list() == [1.0] * 4
    assert found.edges.equals(table.filter(pl.col("q") <= 0.1))
    assert found.n_edges == len(found.edges) == table["edge"].sum()
    for row in known.iter_rows(named=True):
        k = found.index[frozenset((row["first"], row["second"]))]
        assert row["estimate"] == found.estimate[k]
        assert (row["low"], row["high"]) == (found.low[k], found.high[k])
        assert row["verdict"] == (
            "edge" if row["edge"] else "none found" if row["detectable"] <= UNTOLD else "cannot be told"
        )


def test_a_stricter_rate_has_no_more_edges_and_a_higher_level_wider_intervals():
    table = binary(some_codes(8, 400))
    found = {rate: infer_table(table, rate=rate) for rate in ("bh", "by", "holm")}
    assert found["bh"].n_edges >= found["by"].n_edges > 0
    assert np.all(found["bh"].q_value <= found["by"].q_value)
    np.testing.assert_array_equal(found["bh"].p_value, found["holm"].p_value)
    assert np.all(found["bh"].detectable <= found["holm"].detectable)
    few, many = infer_table(table, fdr=0.001), infer_table(table, fdr=0.3)
    assert few.n_edges < many.n_edges
    assert np.all(few.detectable > many.detectable)
    wide = infer_table(table, level=0.99)
    assert np.all((wide.low < few.low) & (wide.high > few.high))
    np.testing.assert_allclose(
        (wide.high - wide.low) / (few.high - few.low), stats.norm.isf(0.005) / stats.norm.isf(0.025), rtol=1e-9
    )


# --- Sentences ---


def test_a_pair_is_described_by_what_is_known_of_it():
    found = make_inference(["a", "b", "c", "d"], {(0, 1): 1.234, (1, 2): -0.5}, untold=[(2, 3)])
    assert found.describe("a", "b") == "a and b have an edge of +1.23 (95% interval +0.73 to +1.73; q = 0.004)."
    assert found.describe("c", "b") == "c and b have an edge of -0.50 (95% interval -1.00 to +0.00; q = 0.004)."
    assert found.describe("a", "d") == (
        "No edge was found between a and d (q = 0.6); one of 0.8 would have been found four times out of five."
    )
    sure = make_inference(["a", "b"], {(0, 1): 2.0}, q_values={(0, 1): 2e-9}, level=0.975)
    assert sure.describe("a", "b") == "a and b have an edge of +2.00 (97.5% interval +1.50 to +2.50; q < 0.001)."
    assert found.describe("c", "d") == (
        "Whether c and d are related cannot be told from these rows: even a weight of 4 could easily be missed, "
        "because answers that go together are too rare."
    )


def test_weights_of_levels_without_order_have_no_sign():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (300, 3))
    codes[:200, 1] = codes[:200, 0]
    said = infer_table(levels(codes, (3, 3, 3))).describe("x0", "x1")
    assert said.startswith("x0 and x1 have an edge of ")
    assert "+" not in said


def why(found, first, second):
    said = found.describe(first, second)
    start = f"Whether {first} and {second} are related cannot be told from these rows: "
    assert said.startswith(start)
    return said.removeprefix(start)


def test_the_reason_is_said_why_a_pair_cannot_be_told():
    codes = some_codes(3, 40)
    constant = infer_table(binary(np.column_stack([codes, np.ones(40)])))
    assert why(constant, "x0", "x3") == why(constant, "x3", "x0") == "all of them have the same x3."
    few = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    twice = infer_table(binary(np.column_stack([few[:, 0], few[:, 0], few[:, 1]])))
    assert why(twice, "x0", "x1") == "the two columns repeat each other."
    assert why(twice, "x0", "x2") == "x0 repeats x1."
    assert why(twice, "x2", "x1") == "x1 repeats x0."
    apart = np.column_stack([codes, codes[:, 0]])
    apart[::2, 0] = apart[1::2, 1] = MISSING
    assert why(infer_table(binary(apart)), "x0", "x1") == "none of them shows both."
    # A level for each row tells all other columns, and repeats none.
    each = infer_table(levels(np.column_stack([codes[:12, :2], np.arange(12)]), (2, 2, 12)))
    assert why(each, "x0", "x2") == "their levels go together nearly always."
    assert why(each, "x0", "x1") == "levels of x0 and x2 go together nearly always."


def test_a_pair_has_two_names_of_variables():
    found = make_inference(["a", "b", "c"], {})
    with pytest.raises(ValueError, match="'a' is given twice: a pair has two different variables"):
        found.describe("a", "a")
    with pytest.raises((KeyError, ValueError), match="d"):
        found.describe("a", "d")


def test_the_sentence_says_how_many_edges_and_how_many_of_them_are_false():
    names = [f"x{i}" for i in range(12)]
    one, many = {(0, 1): 1.0}, {(i, j): 1.0 for i in range(6) for j in range(i)} | {(0, k): 1.0 for k in range(6, 12)}
    many = {tuple(sorted(pair)): weight for pair, weight in many.items()}
    assert make_inference(names, {}).sentence == "No pair is an edge at a false discovery rate of 0.1."
    assert (
        make_inference(names, {}, rate="holm").sentence
        == "No pair is an edge at a probability of any false edge of 0.1."
    )
    said = make_inference(names, one).sentence
    assert said == "1 edge among 66 pairs, of which at most one is expected to be false (false discovery rate 0.1)."
    said = make_inference(names, many).sentence
    assert (
        said == "21 edges among 66 pairs, of which about 2 at most are expected to be false (false discovery rate 0.1)."
    )
    said = make_inference(names, many, rate="holm").sentence
    assert said == "21 edges among 66 pairs; the probability that any of them is false is at most 0.1."
    untold = make_inference(names, one, untold=[(2, 3), (3, 4)])
    assert untold.sentence.endswith(" Of 2 pairs nothing can be told.")
    assert str(untold) == untold.sentence
    assert repr(untold) == f"<Inference: {untold.sentence}>"


# --- Sums and differences of weights ---

EDGES = {(0, 1): 1.2, (1, 2): 1.0, (1, 3): -1.2, (2, 3): 0.9}


def make_truth(p=4):
    interactions = np.zeros((p, p))
    for (i, j), weight in EDGES.items():
        interactions[i, j] = interactions[j, i] = weight
    return sf.PairwiseMRF.binary(-interactions.sum(axis=1) / 2, interactions)


def test_strengths_and_influences_are_sums_of_the_weights_of_edges():
    found = infer_table(make_truth().sample(2000, method="perfect", seed=1))
    assert [tuple(pair) for pair in found.pairs[found.is_edge].tolist()] == sorted(EDGES)
    own = Shrunken.of(found.estimate, found.error, found.p_value)
    sizes = {tuple(pair): (own.size[k], own.mean[k]) for k, pair in enumerate(found.pairs.tolist()) if found.is_edge[k]}
    nodes = found.nodes
    assert nodes["node"].to_list() == ["x0", "x1", "x2", "x3"]
    assert nodes["edges"].to_list() == [1, 3, 2, 2]
    for i, row in enumerate(nodes.iter_rows(named=True)):
        strengths, influences = zip(*(both for pair, both in sizes.items() if i in pair), strict=True)
        assert row["strength"] == pytest.approx(sum(strengths))
        assert row["influence"] == pytest.approx(sum(influences))
        for name in ("strength", "influence"):
            assert row[f"{name}_low"] < row[name] < row[f"{name}_high"]
    assert found.total[0] == pytest.approx(sum(size for size, _ in sizes.values()))
    # That of one edge has its interval.
    k = found.index[frozenset(("x0", "x1"))]
    reach = stats.norm.isf(0.025) * np.sqrt(own.size_variance[k])
    # With 2000 rows weights are hardly shrunken.
    assert own.size[k] == pytest.approx(abs(found.estimate[k]), rel=0.02)
    assert nodes["strength_high"][0] == pytest.approx(nodes["strength"][0] + reach)


@pytest.mark.parametrize("sampled", ["rows", "weights", "clusters"])
def test_covariances_of_weights_are_those_of_what_rows_move_them_by(sampled):
    codes = np.asarray(make_truth().sample(400, method="perfect", seed=2).codes)
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.5, 2, 400) if sampled == "weights" else np.ones(400)
    clusters = np.arange(400) // 4 if sampled == "clusters" else np.arange(400)
    found = infer_table(
        binary(codes), weights if sampled == "weights" else None, clusters=clusters if sampled == "clusters" else None
    )
    pairs, moves = [(0, 1), (1, 2), (1, 3), (2, 3)], []
    counts = found.n_effective * weights / weights.sum()
    for i, j in pairs:
        near = found.rows.near[i] | found.rows.near[j]
        z = codes[:, [k for k in range(4) if near[k] and k not in (i, j)]].astype(float)
        f = naive.indicators(2)
        statistics, states = naive.list_statistics(f, f, z, z), codes[:, i].astype(int) * 2 + codes[:, j]
        _, at = naive.maximise(statistics, states, counts)
        inverse = np.linalg.inv(naive.information(at, statistics, counts))
        own = counts[:, None] * naive.scores_of_rows(at, statistics, states) @ inverse
        moves.append(np.bincount(clusters, own[:, -1]))
    names = [(f"x{i}", f"x{j}") for i, j in pairs]
    table = found.differences(names)
    places = [found.index[frozenset(pair)] for pair in names]
    moves = np.array(moves)
    sizes = np.sqrt((moves**2).sum(axis=1))
    correlations = moves @ moves.T / np.outer(sizes, sizes)
    k = 0
    for a in range(4):
        for b in range(a + 1, 4):
            one, other = found.error[places[a]], found.error[places[b]]
            error = np.sqrt(one**2 + other**2 - 2 * one * other * correlations[a, b])
            row = table.row(k, named=True)
            assert (row["first"], row["second"], row["other_first"], row["other_second"]) == (*names[a], *names[b])
            assert row["difference"] == pytest.approx(found.estimate[places[a]] - found.estimate[places[b]])
            reach = stats.norm.isf(0.025) * error
            # Both are made at the end of a climb, which is right to (2e-5)^(1/2) standard errors.
            assert row["high"] - row["difference"] == pytest.approx(reach, rel=0.01)
            assert row["difference"] - row["low"] == pytest.approx(reach, rel=0.01)
            assert row["p"] == pytest.approx(2 * stats.norm.sf(abs(row["difference"]) / error), rel=0.1)
            k += 1
    assert k == len(table)


def test_intervals_of_sums_and_differences_hold_as_often_as_they_say():
    truth, hits = make_truth(), []
    for seed in range(150):
        found = infer_table(truth.sample(800, method="perfect", seed=seed))
        edges = [(f"x{i}", f"x{j}") for i, j in EDGES]
        differences = found.differences(edges)
        weights = list(EDGES.values())
        exact = [weights[a] - weights[b] for a in range(4) for b in range(a + 1, 4)]
        own = [low <= d <= high for low, high, d in zip(differences["low"], differences["high"], exact, strict=True)]
        if found.n_edges == 4 and found.is_edge[[found.index[frozenset(edge)] for edge in edges]].all():
            _, low, high = found.total
            own.append(low <= sum(map(abs, weights)) <= high)
            for i, row in enumerate(found.nodes.iter_rows(named=True)):
                of_node = [weight for pair, weight in EDGES.items() if i in pair]
                own += [row["strength_low"] <= sum(map(abs, of_node)) <= row["strength_high"]]
                own += [row["influence_low"] <= sum(of_node) <= row["influence_high"]]
        hits.append(own)
    # Of each interval by itself, so that none can be far off: a binomial number of independent tables.
    differences = np.array([own[:6] for own in hits]).sum(axis=0)
    sums = np.array([own[6:] for own in hits if len(own) > 6])
    assert len(sums) > 75
    for found, n in ((differences, 150), (sums.sum(axis=0), len(sums))):
        assert np.all(found >= stats.binom.ppf(FALSE_ALARM / 15, n, 0.95))
    # All of them, by the spread between tables.
    shares = np.array([np.mean(own[:6]) for own in hits])
    error = shares.std(ddof=1) / np.sqrt(150)
    assert abs(shares.mean() - 0.95) < stats.t.isf(FALSE_ALARM / 2, 149) * error


def test_differences_are_of_the_edges_found_strongest_first():
    found = infer_table(make_truth().sample(2000, method="perfect", seed=1))
    table = found.differences()
    order = found.edges.sort(pl.col("estimate").abs(), descending=True).select("first", "second").rows()
    assert table.select("first", "second").rows()[0] == order[0]
    assert len(table) == 6
    assert table.equals(found.differences(order))
    assert len(found.differences([("x1", "x0")])) == 0
    (row,) = found.differences([("x1", "x0"), ("x0", "x2")]).iter_rows(named=True)
    assert (row["first"], row["second"]) == ("x0", "x1")  # in the order of the table


def test_norms_of_levels_have_differences_too():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (500, 4))
    for j in (1, 2):
        follows = rng.random(500) < 0.5
        codes[follows, j] = codes[follows, j - 1]
    found = infer_table(levels(codes, (3,) * 4))
    assert found.n_edges == 2
    (row,) = found.differences().iter_rows(named=True)
    assert row["low"] < row["difference"] < row["high"]
    assert found.nodes["strength"].to_list() == pytest.approx(found.nodes["influence"].to_list())


def test_odd_edges_are_refused():
    found = infer_table(binary(np.column_stack([some_codes(), np.ones(300)])))
    for odd in [("x0", "y"), ("x0", "x0"), ("x0",), ("x0", "x1", "x2")]:
        with pytest.raises(ValueError, match="use pairs of two different names of variables"):
            found.differences([odd])
    with pytest.raises(ValueError, match="one variable is constant has no weight: leave it out"):
        found.differences([("x0", "x1"), ("x0", "x4")])


def test_without_an_edge_there_are_no_sums():
    found = infer_table(binary(np.random.default_rng(1).integers(0, 2, (30, 4))))
    assert found.n_edges == 0
    assert found.total == (0.0, 0.0, 0.0)
    assert found.nodes["strength_high"].to_list() == [None] * 4
    assert found.differences().is_empty()
    assert found.edges.is_empty()
