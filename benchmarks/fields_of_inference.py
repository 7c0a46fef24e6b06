"""The settings of `inference.py`: fields of two and more levels; tables with and without holes, weights, clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import networkx as nx
import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

import sparsefield as sf
from fields_of_choice import Rng, make_graph, make_none, make_paper, make_rare, weigh
from sparsefield._typing import Values
from sparsefield.data import MISSING
from sparsefield.inference import OutOfReachError
from sparsefield.model import pair_weights

Make = Callable[[int], sf.PairwiseMRF]

FIRST_SEED = 1001  # no constant of `sparsefield.pairs` was chosen on tables of these seeds
N_NEIGHBOURS = 3.0  # of a variable in random graphs, in the mean
MANY_SWEEPS = 2000  # where exact draws are out of reach

SKEWED = {3: (0.6, 0.25, 0.15), 5: (0.6, 0.2, 0.1, 0.06, 0.04)}
POSITIVE = 0.75  # of the edges of fields with levels
STRENGTH = (0.1, 0.3)  # of these edges: interactions times the standard deviations of both scores
BLOCK_STRENGTH = (0.15, 0.35)  # the same where a variable has no order: root mean squares


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table, the true weights of all its pairs, and how its rows were drawn."""

    table: sf.Table
    truth: Values
    weights: Values | None = None
    clusters: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Setting:
    """A kind of table: which part of the page shows it, what it is, its rows, how many of it, and how one is drawn."""

    group: str
    name: str
    n_rows: int
    n_tables: int
    draw: Callable[[int], Drawn]


def random_graph(p: int, rng: Rng) -> nx.Graph:
    """Return a graph whose nodes have three neighbours in the mean."""
    return nx.gnp_random_graph(p, N_NEIGHBOURS / (p - 1), seed=int(rng.integers(2**31)))


def make_random(p: int, size: tuple[float, float], seed: int) -> sf.PairwiseMRF:
    """Make a random graph, the edges of which have these sizes and either sign."""
    rng = np.random.default_rng([11, seed])
    return weigh(random_graph(p, rng), rng, is_mixed=True, size=size)


def make_hub(p: int, seed: int) -> sf.PairwiseMRF:
    """Make a star: strong edges to half of all others, and weak ones to the other half."""
    rng = np.random.default_rng([12, seed])
    weights = np.zeros((p, p))
    size = np.where(np.arange(p - 1) < p // 2, rng.uniform(1.0, 1.5, p - 1), rng.uniform(0.25, 0.4, p - 1))
    weights[0, 1:] = weights[1:, 0] = size * rng.choice([-1, 1], p - 1)
    return sf.PairwiseMRF.binary(-weights.sum(axis=1) / 2, weights)


def make_levels(margins: Sequence[Values], is_ordered: Sequence[bool], seed: int) -> sf.PairwiseMRF:
    """Make a random graph of variables with any levels, which have these frequencies about as often.

    Features are centred and scaled by the frequencies, so that edges hardly move them: the scores of an ordered or
    two-level variable, any function of the levels of another.
    """
    rng = np.random.default_rng([13, seed])
    p = len(margins)
    n_levels = [len(own) for own in margins]
    is_ordered = [own and n > 2 for own, n in zip(is_ordered, n_levels, strict=True)]
    domain = sf.Domain(
        tuple(f"v{i}" for i in range(p)),
        tuple(tuple(range(n)) for n in n_levels),
        (0,) * p,
        tuple(tuple(map(float, range(n))) if own else None for n, own in zip(n_levels, is_ordered, strict=True)),
    )
    main, interactions = np.zeros(domain.n_slots), np.zeros((domain.n_slots,) * 2)
    slots = [domain.slot_variables == i for i in range(p)]
    for i, own in enumerate(margins):
        main[slots[i]] = np.log(own[1:] / own[0])
    has_scores = [own or n == 2 for own, n in zip(is_ordered, n_levels, strict=True)]
    for i, j in random_graph(p, rng).edges:
        size = rng.uniform(*(STRENGTH if has_scores[i] and has_scores[j] else BLOCK_STRENGTH))
        sign = 1 if rng.random() < POSITIVE else -1
        block = sign * size * draw_block(margins[i], margins[j], has_scores[i], has_scores[j], rng)
        main[slots[i]] += block[1:, 0] - block[0, 0]
        main[slots[j]] += block[0, 1:] - block[0, 0]
        between = block[1:, 1:] - block[1:, :1] - block[:1, 1:] + block[0, 0]
        interactions[np.ix_(slots[i], slots[j])] = between
        interactions[np.ix_(slots[j], slots[i])] = between.T
    return sf.PairwiseMRF(domain, main, interactions)


def draw_block(first: Values, second: Values, is_scored: bool, is_other_scored: bool, rng: Rng) -> Values:
    """Draw interactions of all levels of two variables whose weighted rows and columns have mean zero, of size one."""
    if is_scored or is_other_scored:
        sides = [
            (np.arange(len(own)) if scored else rng.normal(size=len(own))) + 0.0
            for own, scored in ((first, is_scored), (second, is_other_scored))
        ]
        block = np.outer(*sides)
    else:
        block = rng.normal(size=(len(first), len(second)))
    block = block - first @ block
    block = block - (block @ second)[:, None]
    return np.asarray(block / np.sqrt(first @ block**2 @ second))


def skewed(n_levels: int) -> Values:
    """Return frequencies that fall from level to level."""
    return np.array(SKEWED[n_levels])


def balanced(n_levels: int) -> Values:
    """Return equal frequencies."""
    return np.full(n_levels, 1 / n_levels)


def make_alike(p: int, margin: Values, is_ordered: bool, seed: int) -> sf.PairwiseMRF:
    """Make variables that are all of one kind."""
    return make_levels([margin] * p, [is_ordered] * p, seed)


def make_mixed(p: int, seed: int) -> sf.PairwiseMRF:
    """Make variables of which a third has two levels, a third five that are ordered, and a third three that are not."""
    kinds = [(balanced(2), False), (skewed(5), True), (balanced(3), False)]
    return make_levels([kinds[i % 3][0] for i in range(p)], [kinds[i % 3][1] for i in range(p)], seed)


def make_seldom(p: int, seed: int) -> sf.PairwiseMRF:
    """Make variables whose ones have frequencies from 0.05 to 0.25."""
    share = np.random.default_rng([14, seed]).uniform(0.05, 0.25, p)
    return make_levels([np.array([1 - own, own]) for own in share], [False] * p, seed)


def sample(model: sf.PairwiseMRF, n: int, seed: int) -> sf.Table:
    """Draw rows, exactly where that can be done."""
    try:
        return model.sample(n, method="perfect", seed=seed, n_threads=1)
    except OutOfReachError:
        return model.sample(n, n_sweeps=MANY_SWEEPS, seed=seed, n_threads=1)


def true_weights(model: sf.PairwiseMRF) -> Values:
    """Return the weights of all pairs."""
    return np.asarray(pair_weights(model.domain, model.interactions)[np.triu_indices(model.domain.n_variables, 1)])


def draw_whole(make: Make, n: int, seed: int) -> Drawn:
    """Draw a whole table."""
    model = make(seed)
    return Drawn(sample(model, n, seed), true_weights(model))


def draw_again(make: Make, n: int, seed: int) -> Drawn:
    """Draw a table of the first field."""
    model = make(FIRST_SEED)
    return Drawn(sample(model, n, seed), true_weights(model))


def draw_holes(make: Make, n: int, share: float, at_random: bool, seed: int) -> Drawn:
    """Draw a table in which cells are missing.

    Completely at random; or at random: never in the first three columns, and elsewhere up to three times as often where
    one of these has a larger level.
    """
    drawn = draw_whole(make, n, seed)
    codes, rng = drawn.table.codes.copy(), np.random.default_rng([15, seed])
    chance = np.full(codes.shape, share)
    if at_random:
        level = codes[:, np.arange(codes.shape[1]) % 3] / (drawn.table.domain.n_levels[:3].max() - 1)
        chance = 0.5 + level
        chance *= share / chance.mean(axis=0)
        chance[:, :3] = 0.0
    codes[rng.random(codes.shape) < chance] = MISSING
    return Drawn(sf.Table(drawn.table.domain, np.asfortranarray(codes)), drawn.truth)


def draw_weighted(make: Make, n: int, is_informative: bool, seed: int) -> Drawn:
    """Draw a table with weights, whose effective number of rows is about half of theirs.

    They have nothing to do with the answers; or rows were drawn with a chance that depends on three variables, and have
    its inverse for a weight.
    """
    rng = np.random.default_rng([16, seed])
    if not is_informative:
        drawn = draw_whole(make, n, seed)
        return Drawn(drawn.table, drawn.truth, weights=rng.lognormal(0.0, np.sqrt(np.log(2.0)), n))
    drawn = draw_whole(make, 12 * n, seed)
    weights = np.exp(drawn.table.codes[:, :3].sum(axis=1, dtype=float))
    chosen = np.flatnonzero(rng.random(len(weights)) < 1 / weights)[:n]
    return Drawn(drawn.table[chosen], drawn.truth, weights=weights[chosen])


def draw_clusters(make: Make, n: int, size: int, seed: int) -> Drawn:
    """Draw clusters of rows about a common draw, each value of a row drawn again with probability one half.

    It is drawn given the others of its row, so that each row has the law of the field.
    """
    model, rng = make(seed), np.random.default_rng([17, seed])
    centres = sample(model, n // size, seed).codes
    clusters = np.repeat(np.arange(len(centres)), size)
    codes = centres[clusters].copy()
    for i in range(codes.shape[1]):
        chance = 1 / (1 + np.exp(-model.main[i] - codes @ model.interactions[i]))
        again = rng.random(len(codes)) < 0.5
        codes[again, i] = rng.random(again.sum()) < chance[again]
    return Drawn(sf.Table(model.domain, np.asfortranarray(codes)), true_weights(model), clusters=clusters)


def draw_effects(p: int, n: int, size: int, deviation: float, seed: int) -> Drawn:
    """Draw clusters whose main effects vary, of a field that is made of pairs.

    The odds ratio of a pair is that of the mean of its law over clusters; other pairs are independent in every cluster,
    and by all rows together.
    """
    rng = np.random.default_rng([18, seed])
    n_clusters, half = n // size, p // 2
    theta = rng.uniform(0.5, 1.5, half) * rng.choice([-1, 1], half)
    main = rng.normal(0, 0.5, (half, 2)) - theta[:, None] / 2
    effects = deviation * rng.normal(size=(n_clusters, half, 2))
    clusters = np.repeat(np.arange(n_clusters), size)
    laws = find_laws(main + effects, theta)[clusters].cumsum(axis=2)
    states = (rng.random((len(clusters), half, 1)) > laws[:, :, :3]).sum(axis=2)
    codes = np.stack([states // 2, states % 2], axis=2).reshape(len(clusters), p).astype(np.uint8)
    nodes, shares = hermegauss(31)
    grid = deviation * np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=2).reshape(-1, 1, 2)
    mean = np.log(np.tensordot(np.outer(shares, shares).ravel() / shares.sum() ** 2, find_laws(main + grid, theta), 1))
    weights = np.zeros((p, p))
    first = np.arange(0, p, 2)
    weights[first, first + 1] = mean[:, 3] - mean[:, 2] - mean[:, 1] + mean[:, 0]
    table = sf.Table(sf.Domain.binary(p), np.asfortranarray(codes))
    return Drawn(table, weights[np.triu_indices(p, 1)], clusters=clusters)


def find_laws(main: Values, theta: Values) -> Values:
    """Return the probabilities of the states 00, 01, 10 and 11 of pairs, from main effects (..., 2)."""
    a, b = main[..., 0], main[..., 1]
    exponents = np.stack([np.zeros_like(a), b, a, a + b + theta], axis=-1)
    chances = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))


MIDDLE, WEAK = (0.5, 1.5), (0.2, 0.8)
# So many tables that a false discovery rate of two-level tables is known to about 0.007.
TABLES = {9: 200, 10: 200, 12: 160, 16: 120, 20: 100, 24: 80, 25: 80, 30: 60, 50: 40, 100: 16, 300: 4, 1000: 1}
LONG = 1000  # tables with more rows are half as many


def count_tables(p: int, n: int, share: float = 1.0) -> int:
    """Return how many tables a setting has."""
    return max(1, round(share * TABLES[p] / (2 if n > LONG else 1)))


def list_binary() -> list[Setting]:
    """Return the settings of whole tables with two levels."""

    def grid(side: int) -> nx.Graph:
        return nx.grid_2d_graph(side, side)

    kinds: list[tuple[str, int, tuple[int, ...], Make]] = [
        *(
            (f"random, {p}", p, rows, partial(make_random, p, MIDDLE))
            for p, rows in (
                (10, (150, 250, 500, 1000, 4000)),
                (20, (150, 250, 500, 1000, 4000)),
                (30, (150, 250, 500, 1000)),
                (50, (150, 250, 500, 1000)),
                (100, (250, 500, 1000)),
                (300, (500, 1000)),
                (1000, (1000,)),
            )
        ),
        *(
            (f"weak, {p}", p, (250, 500, 1000, 4000)[: 4 if p < 100 else 3], partial(make_random, p, WEAK))
            for p in (10, 30, 100)
        ),
        *((f"the paper's, {p}", p, (250, 500, 1000, 4000), partial(make_paper, p)) for p in (10, 16)),
        *((f"rare, {p}", p, (250, 500, 1000, 4000)[: 4 if p < 50 else 3], partial(make_rare, p)) for p in (12, 30, 50)),
        ("grid, 25", 25, (150, 250, 500, 1000), partial(make_graph, grid(5))),
        ("grid, 100", 100, (500,), partial(make_graph, grid(10))),
        ("chain, 25", 25, (150, 250, 500, 1000), partial(make_graph, nx.path_graph(25))),
        ("hub, 20", 20, (250, 500, 1000, 4000), partial(make_hub, 20)),
        *((f"none, {p}", p, (250, 1000), partial(make_none, p)) for p in (20, 50)),
    ]
    return [
        Setting("binary", name, n, count_tables(p, n), partial(draw_whole, make, n))
        for name, p, rows, make in kinds
        for n in rows
    ]


def list_levels() -> list[Setting]:
    """Return the settings of whole tables with several levels."""
    found = []
    for k in (3, 5):
        for words, margin in (("skewed", skewed(k)), ("balanced", balanced(k))):
            for p, rows in ((10, (150, 250, 500, 1000)), (20, (250, 500))):
                make = partial(make_alike, p, margin, True)
                found += [
                    Setting(
                        "ordered", f"K = {k}, {words}, {p}", n, count_tables(p, n, 0.5), partial(draw_whole, make, n)
                    )
                    for n in rows
                ]
    for name, p, make in (
        ("nominal, K = 3, balanced, 10", 10, partial(make_alike, 10, balanced(3), False)),
        ("nominal, K = 3, skewed, 10", 10, partial(make_alike, 10, skewed(3), False)),
        ("mixed, 12", 12, partial(make_mixed, 12)),
        ("mixed, 24", 24, partial(make_mixed, 24)),
    ):
        found += [
            Setting("nominal", name, n, count_tables(p, n, 0.5), partial(draw_whole, make, n))
            for n in (250, 500, 1000)[: 3 if p < 20 else 2]
        ]
    return found


def list_samples() -> list[Setting]:
    """Return the settings of tables that lack cells, or have weights or clusters."""
    found = []
    two, three = partial(make_random, 10, MIDDLE), partial(make_alike, 10, skewed(3), True)
    twenty = partial(make_random, 20, MIDDLE)
    for words, make, share, n_tables in (
        ("random, 10, 20%", two, 0.2, 120),
        ("random, 20, 20%", twenty, 0.2, 40),
        ("K = 3, skewed, 10, 10%", three, 0.1, 80),
        ("K = 3, skewed, 10, 20%", three, 0.2, 80),
    ):
        for why, at_random in (("MCAR", False), ("MAR", True)):
            for n in (250, 500, 1000):
                draw = partial(draw_holes, make, n, share, at_random)
                found.append(Setting("missing", f"{words} {why}", n, n_tables, draw))
    seldom = partial(make_seldom, 10)
    for words, make in (("random, 10", two), ("5 to 25%, 10", seldom), ("K = 3, skewed, 10", three)):
        for why, is_informative in (("free", False), ("informative", True)):
            for n in (500, 1000):
                draw = partial(draw_weighted, make, n, is_informative)
                found.append(Setting("weights", f"{words}, {why} weights", n, 100, draw))
    for words, make in (("random, 10", two), ("5 to 25%, 10", seldom)):
        for n, size in ((300, 10), (600, 10), (600, 20)):
            draw = partial(draw_clusters, make, n, size)
            found.append(Setting("weights", f"{words}, {n // size} clusters of {size}", n, 100, draw))
    for n, size, deviation in ((600, 20, 0.5), (600, 10, 0.5), (600, 10, 1.0)):
        draw = partial(draw_effects, 16, n, size, deviation)
        name = f"pairs, 16, {n // size} clusters of {size}, main effects vary by {deviation:g}"
        found.append(Setting("weights", name, n, 100, draw))
    return found


def list_worst() -> list[Setting]:
    """Return the settings of many tables of one field."""
    ordered, mixed = partial(make_alike, 10, skewed(3), True), partial(make_mixed, 9)
    kinds: list[tuple[str, int, Make]] = [
        ("random, 10", 250, partial(make_random, 10, MIDDLE)),
        ("random, 10", 1000, partial(make_random, 10, MIDDLE)),
        ("weak, 10", 1000, partial(make_random, 10, WEAK)),
        ("the paper's, 10", 500, partial(make_paper, 10)),
        ("rare, 10", 500, partial(make_rare, 10)),
        ("grid, 9", 500, partial(make_graph, nx.grid_2d_graph(3, 3))),
        ("hub, 10", 500, partial(make_hub, 10)),
        ("ordered, K = 3, skewed, 10", 500, ordered),
        ("mixed, 9", 500, mixed),
    ]
    return [Setting("worst", name, n, 400, partial(draw_again, make, n)) for name, n, make in kinds]


SETTINGS = (*list_binary(), *list_levels(), *list_samples())
WORST = tuple(list_worst())
