"""The top of the page, sentence by sentence, for fits of all kinds."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from scipy.special import expit

import sparsefield as sf
from sparsefield import Fit, PairwiseMRF
from sparsefield.data import Domain
from sparsefield.fits import Optimality, Status
from sparsefield.inference import expand
from sparsefield.network import Network, find_clusters
from sparsefield.report import write_report
from sparsefield.report._certainty import describe_limits
from sparsefield.report._odds import as_times, describe_edge
from sparsefield.report._words import describe
from sparsefield.resampling import Bootstrap, Ends
from support.inferences import make_inference

ENDS = Ends((), np.ones(0, dtype=bool), np.zeros(0, dtype=int), np.zeros(0, dtype=int))


def make_fit(interactions, names=None, **more):
    """A fit of binary variables, converged, at alpha = 0.1."""
    p = len(interactions)
    model = PairwiseMRF.binary(
        np.zeros(p), np.asarray(interactions, dtype=float), names=names or [f"v{k}" for k in range(p)]
    )
    settings = {"alpha": 0.1, "n_rows": 500, **more.pop("settings", {})}
    return Fit(model, Status("converged", "Made up."), (), alpha=0.1, settings=settings, **more)


def make_star(n=4, weight=1.2):
    interactions = np.zeros((n, n))
    interactions[0, 1:] = interactions[1:, 0] = weight * np.arange(1, n) ** -0.5
    return make_fit(interactions)


def tell(fit, **more):
    network = Network.of(fit)
    return describe(fit, network, find_clusters(network), **more)


# --- What was found ---


def test_one_edge_is_one():
    words = tell(make_fit([[0, 1.2, 0], [1.2, 0, 0], [0, 0, 0]]))
    assert words.found == (
        "There is 1 edge among the 3 variables, of 3 possible pairs; 1 variable has no edge.",
        "The strongest edge joins v0 and v1 (weight +1.20): when v0 is 1 rather than 0, the odds of v1 being 1 are "
        "3.3 times as large, all other variables fixed.",
        "This was learned from 500 rows.",
    )


def test_long_names_and_marks_of_direction_do_not_break_sentences():
    fit = make_fit([[0, 1.2], [1.2, 0]], names=["a question " * 100, "turned\u202e\naround"])
    said = tell(fit).found[1]
    assert said.count("a question a question") == 2 * 2  # whole ones would be 100
    assert "and turned around (weight" in said
    assert len(said) < 400


def test_the_most_connected_variables_are_named():
    words = tell(make_star(5))
    assert words.found[0] == "There are 4 edges among the 5 variables, of 10 possible pairs."
    assert words.found[2] == "The most connected variable is v0 (4 edges)."
    assert tell(make_star(3)).found[2] == "The most connected variable is v0 (2 edges)."
    ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    ring[0, 3] = ring[3, 0] = 0.5
    assert "The most connected variables are v0 (3 edges), v3 (3 edges) and v1 (2 edges)." in tell(make_fit(ring)).found


def test_clusters_are_told_where_there_are_some():
    graph = nx.planted_partition_graph(3, 10, 0.7, 0.03, seed=1)
    words = tell(make_fit(nx.to_numpy_array(graph)))
    assert words.found[3].startswith("There are 3 clusters of 10 variables each, which are joined more among")
    sizes = [12, 10, 9]
    uneven = nx.random_partition_graph(sizes, 0.7, 0.03, seed=1)
    said = tell(make_fit(nx.to_numpy_array(uneven))).found[3]
    assert said.startswith("There are 3 clusters of 12, 10 and 9 variables, which are")
    many = nx.disjoint_union_all([nx.complete_graph(n) for n in (3, 4, 5, 6, 7, 8, 9)])
    assert (
        tell(make_fit(nx.to_numpy_array(many))).found[3].startswith("There are 7 clusters of 3 to 9 variables, which")
    )
    alone = nx.to_numpy_array(nx.complete_graph(6))
    assert tell(make_fit(alone)).found[3].startswith("There are no clusters: no two parts")
    assert not any("cluster" in sentence for sentence in tell(make_star(3)).found)


def test_no_edge_says_why_and_what_to_do():
    words = tell(make_fit(np.zeros((3, 3))))
    assert words.found[:2] == (
        "No edge joins any two of the 3 variables.",
        "The penalty, alpha = 0.1, leaves no edge: no two variables go together more clearly than it asks for.",
    )
    assert words.sure == ()
    assert words.advice == "Take a smaller penalty, or leave it out to have it chosen:"
    assert words.command == "sparsefield fit DATA --report page.html"
    assert words.limits == (
        "A pair without an edge is not proven to be independent: with this penalty and these rows, no edge shows.",
    )


def test_no_edge_at_a_chosen_penalty_says_why():
    words = tell(make_fit(np.zeros((3, 3)), settings={"choice": "Chosen."}))
    assert "was chosen so that few of the edges are due to sampling error" in words.found[1]
    assert words.command == "sparsefield fit DATA --alpha 0.05 --report page.html"


def test_one_variable_has_no_pairs():
    words = tell(make_fit([[0.0]]))
    assert words.found[0] == "There is 1 variable, and an edge takes two."
    assert words.command == ""


# --- What an edge means ---


def conditional(model, name, given):
    """Return the law of a variable given the codes of the only other one, by the definition of the field."""
    main, pair = expand(model)
    domain = model.domain
    starts = np.cumsum(domain.n_levels) - domain.n_levels
    i = domain.names.index(name)
    own = slice(starts[i], starts[i] + domain.n_levels[i])
    logits = main[own] + pair[own, starts[1 - i] + given]
    weights = np.exp(logits)
    return weights / weights.sum()


def test_odds_of_two_levels_are_those_of_the_model():
    domain = Domain(("smokes", "coughs"), (("no", "yes"), ("never", "often")), (0, 0))
    model = PairwiseMRF(domain, np.array([0.3, -0.4]), np.array([[0.0, -1.5], [-1.5, 0.0]]))
    odds = [p[1] / p[0] for p in (conditional(model, "coughs", code) for code in (0, 1))]
    assert describe_edge(model, "smokes", "coughs") == (
        f"when smokes is yes rather than no, the odds of coughs being often are {odds[1] / odds[0]:.2g} times as "
        "large, all other variables fixed"
    )
    assert odds[1] / odds[0] == pytest.approx(np.exp(-1.5))


@pytest.fixture(scope="module")
def ordered():
    rng = np.random.default_rng(1)
    mood = rng.integers(0, 4, 1000)
    sleep = np.clip(mood + rng.integers(-1, 2, 1000), 0, 3)
    return sf.learn(sf.encode(np.column_stack([mood, sleep]) + 1, ordinal=True), 0.02)


def test_odds_of_ordered_levels_are_those_of_a_step(ordered):
    law = [conditional(ordered.model, "x1", code) for code in range(4)]
    steps = [law[k + 1][j + 1] / law[k + 1][j] / (law[k][j + 1] / law[k][j]) for k in range(3) for j in range(3)]
    assert steps == pytest.approx([steps[0]] * 9)
    assert describe_edge(ordered.model, "x0", "x1") == (
        f"with each step up of x0, the odds of each level of x1 against the one below it are {steps[0]:.1f} times as "
        "large, all other variables fixed"
    )
    assert "(weight +" in tell(ordered).found[1]


def test_odds_of_uneven_scores_are_those_of_the_ends():
    rng = np.random.default_rng(1)
    income = rng.choice([1, 2, 10], 1000)
    spent = np.where(rng.random(1000) < 0.6, income, rng.choice([1, 2, 10], 1000))
    fit = sf.learn(sf.encode(np.column_stack([income, spent]), ordinal=True), 0.02)
    law = [conditional(fit.model, "x1", code) for code in (0, 2)]
    ratio = law[1][2] / law[1][0] / (law[0][2] / law[0][0])
    said = describe_edge(fit.model, "x0", "x1")
    assert said.startswith("when x0 is 10 rather than 1, the odds of x1 being 10 rather than 1 are ")
    assert f" {as_times(np.log(ratio))} times" in said


def test_odds_of_unordered_levels_are_the_largest_of_all():
    rng = np.random.default_rng(2)
    town = rng.integers(0, 3, 1000)
    paper = np.where(rng.random(1000) < 0.5, (town + 1) % 3, rng.integers(0, 3, 1000))
    table = sf.encode({"town": np.array(["a", "b", "c"])[town], "paper": np.array(["x", "y", "z"])[paper]})
    fit = sf.learn(table, 0.02)
    law = [conditional(fit.model, "paper", code) for code in range(3)]
    odds = {
        (a, b, c, d): law[a][c] / law[a][d] / (law[b][c] / law[b][d])
        for a in range(3)
        for b in range(3)
        for c in range(3)
        for d in range(3)
    }
    (a, b, c, d), most = max(odds.items(), key=lambda own: own[1])
    said = describe_edge(fit.model, "town", "paper")
    towns, papers = fit.model.domain.levels
    asked = {
        f"when town is {towns[p]} rather than {towns[q]}, the odds of paper being {papers[r]} rather than {papers[s]}"
        for p, q, r, s in ((a, b, c, d), (b, a, d, c))
    }
    assert said.split(" are ")[0] in asked
    assert said.endswith(
        f"are {as_times(np.log(most))} times as large, all other variables fixed; "
        "no other two levels of each differ more"
    )
    assert "without a sign" in tell(fit).found[1]


# --- How sure ---


def test_no_simulation_no_simulation_error(ordered):
    assert "All states of the model were enumerated, so that there is no simulation error." in tell(ordered).sure


def test_simulation_error_is_called_that():
    table = sf.datasets.make_field(30, degree=2, seed=1).sample(300, method="perfect", seed=1)
    fit = sf.SparseMRF(0.05, gap=0.05, random_state=1).fit(table).fit_
    assert fit.steps[-1].n_chains
    network = Network.of(fit)
    said = tell(fit).sure[0]
    assert said.startswith("Simulation error leaves ")
    some = replace(fit, undecided=np.zeros_like(fit.undecided))
    assert tell(some).sure[0] == f"Simulation error leaves none of the {network.n_edges} edges open."
    marked = np.zeros_like(fit.undecided)
    a, b = np.argwhere(np.triu(fit.model.interactions, 1) != 0)[0]
    c, d = np.argwhere(np.triu(fit.model.interactions == 0, 1))[0]
    marked[[a, b, c, d], [b, a, d, c]] = True
    assert tell(replace(fit, undecided=marked)).sure[0] == (
        f"Simulation error leaves 1 of {network.n_edges} edges open, and whether 1 other pair has one: "
        "more simulated samples would tell."
    )
    assert not any("undecided" in sentence for sentence in tell(fit).sure)


def test_resampling_is_pointed_to_with_its_command():
    words = tell(make_star())
    assert words.sure == (
        "Sampling error is another matter: whether other rows would show the same edges has not been tried here.",
    )
    assert words.advice == "To see how sure each pair is, and how many of the edges other rows would show:"
    assert words.command == "sparsefield infer DATA"


def tell_sure(fit, weights, **more):
    names = fit.model.domain.names
    network = Network.of(fit, make_inference(names, weights, **more))
    return describe(fit, network, find_clusters(network))


def test_how_sure_one_can_be_begins_with_the_false_discovery_rate():
    words = tell_sure(make_star(8), {(0, k): 1.0 for k in range(1, 7)} | {(1, k): 0.5 for k in range(2, 8)})
    assert words.sure[0] == (
        "Sampling error: 12 of 28 pairs are edges at a false discovery rate of 0.1, and about one of these at most is "
        "expected to be false. Of the 7 edges of the network, 6 are among them; the other one may be due to "
        "sampling error."
    )
    assert not any("not been tried" in sentence for sentence in words.sure)
    assert words.advice == "To see in how many resamples of the rows each edge is found:"
    assert words.command == "sparsefield bootstrap DATA --alpha 0.1 --report page.html"


@pytest.mark.parametrize(
    ("weights", "more", "said"),
    [
        (
            {(0, 1): 1.0, (0, 2): 1.0, (0, 3): 1.0},
            {"untold": [(2, 3)]},
            "Sampling error: 3 of 6 pairs are edges at a false discovery rate of 0.1, and at most one of these is "
            "expected to be false. All 3 edges of the network are among them. Of 1 pair these rows can tell nothing.",
        ),
        (
            {},
            {},
            "Sampling error: none of 6 pairs is an edge at a false discovery rate of 0.1. None of the 3 edges of the "
            "network is.",
        ),
        (
            {(1, 2): 1.0},
            {"rate": "holm", "fdr": 0.05},
            "Sampling error: 1 of 6 pairs is an edge with a probability of at most 0.05 that any is false. None of the "
            "3 edges of the network is.",
        ),
        (
            {(0, 1): 1.0},
            {},
            "Sampling error: 1 of 6 pairs is an edge at a false discovery rate of 0.1, and at most one of these is "
            "expected to be false. Of the 3 edges of the network, 1 is among them; the other 2 may be due to "
            "sampling error.",
        ),
    ],
)
def test_what_is_told_of_sampling_error(weights, more, said):
    assert tell_sure(make_star(4), weights, **more).sure[0] == said


def test_without_an_edge_in_the_fit_sampling_error_is_told_all_the_same():
    words = tell_sure(make_fit(np.zeros((3, 3))), {(0, 2): 1.0})
    assert words.sure[0].startswith("Sampling error: 1 of 3 pairs is an edge at")
    assert "network" not in words.sure[0]


def test_simulation_error_comes_after_sampling_error(ordered, tmp_path):
    rng = np.random.default_rng(1)
    mood = rng.integers(0, 4, 1000)
    sleep = np.clip(mood + rng.integers(-1, 2, 1000), 0, 3)
    table = sf.encode(np.column_stack([mood, sleep]) + 1, ordinal=True)
    write_report(ordered, tmp_path / "page.html", table=table)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    first = text.index("Sampling error: 1 of 1 pair is an edge at a false discovery rate of 0.1")
    assert first < text.index("All states of the model were enumerated")


def test_resamples_are_counted():
    fit = make_star(4)
    weights = np.ones((40, 3))
    weights[:2, 0] = 0.0  # found in 95%
    weights[:3, 1] = 0.0  # in less
    weights[:21, 2] = 0.0  # in less than half
    bootstrap = Bootstrap(fit, np.array([[0, 1], [0, 2], [0, 3]]), weights, ENDS, 500)
    words = tell(fit, bootstrap=bootstrap)
    assert words.sure == (
        "Sampling error: 1 of 3 edges is found in at least 95% of 40 resamples of the rows, and 1 in fewer than half.",
    )
    assert words.command == ""


def test_the_certificate_is_one_sentence_rounded_up():
    fit = replace(make_star(), optimality=Optimality(0.01234, 0.1, 0.98999, 1000))
    assert tell(fit).sure[-1] == (
        "The fit is certified to be at most 0.0124 nats per row from the best one for this penalty, with confidence "
        "0.9899."
    )
    exact = replace(make_star(), optimality=Optimality(1e-9, 0.1, 1.0, 0, kind="exact"))
    assert tell(exact).sure[-1] == (
        "The fit is certified to be less than a millionth of a nat per row from the best one for this penalty."
    )
    large = replace(fit, optimality=Optimality(0.01234, 0.1, 0.95, 1000, kind="asymptotic"))
    assert tell(large).sure[-1].endswith("with confidence 0.95 by the central limit theorem.")
    relaxed = replace(exact, support=np.ones((4, 4), dtype=bool))
    assert tell(relaxed).sure[-1].endswith("from the best one that has no other edges.")


@pytest.mark.parametrize("code", ["max_iter", "interrupted", "max_seconds"])
def test_fits_that_are_not_finished_say_so_first(code):
    fit = replace(make_star(), status=Status(code, "It ran out of iterations."))
    assert tell(fit).sure[0] == "The fit is not finished, so that edges may be wrong. It ran out of iterations."


def test_fits_that_converged_without_a_certificate_are_not_called_unfinished():
    table = sf.datasets.make_chain(4, seed=1).sample(500, method="perfect", seed=1)
    codes = table.codes.copy()
    codes[:20, 0] = 255
    filled = sf.learn(replace(table, codes=codes), 0.05, certify=True)
    assert not tell(filled).sure[0].startswith("How near")  # no one can do anything about it
    fit = sf.learn(table, 0.05, certify=True)
    words = tell(replace(fit, status=replace(fit.status, code="not_certified")))
    assert words.sure[0].startswith("How near the fit is to the best one for this penalty is not certified. Converged")
    assert "All states of the model were enumerated, so that there is no simulation error." in words.sure


def test_without_steps_nothing_is_said_of_how_states_were_summed(tmp_path):
    fit = replace(make_star(), undecided=np.zeros((4, 4), dtype=bool))
    assert not any("enumerated" in sentence for sentence in tell(fit).sure)
    write_report(fit, tmp_path / "page.html")
    assert "enumerated," not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_weak_edges_are_not_told_as_none():
    said = tell(make_fit([[0, 0.0012], [0.0012, 0]])).found[1]
    assert "(weight +0.0012)" in said
    assert "being 1 are 1.001 times as large" in said
    assert [as_times(value) for value in (1e-9, -1e-9)] == ["1.000000001", "0.999999999"]


def test_the_pseudolikelihood_needs_no_simulation():
    table = sf.datasets.make_chain(4, seed=1).sample(500, method="perfect", seed=1)
    words = tell(sf.PseudoLikelihood(0.05).fit(table).fit_, table=table)
    assert words.sure[0] == (
        "The pseudo-likelihood, which was fitted, needs no simulation, so that there is no simulation error."
    )
    assert words.command == "sparsefield infer DATA"
    fit = sf.PseudoLikelihood(0.05).fit(table).fit_
    network = Network.of(fit, make_inference(table.domain.names, {}))
    words = describe(fit, network, find_clusters(network))
    assert words.command == "sparsefield bootstrap DATA --objective pseudolikelihood --alpha 0.05 --report page.html"


# --- Rows ---


def test_missing_values_are_counted():
    table = sf.datasets.make_chain(4, seed=1).sample(500, method="perfect", seed=1)
    codes = table.codes.copy()
    codes[:7, 0] = 255
    fit = make_star(4)
    said = tell(fit, table=sf.Table(table.domain, codes)).found[-1]
    assert said == "This was learned from 500 rows, in which 7 values (0.4%) are missing."
    codes[1:, 0] = 0
    assert tell(fit, table=sf.Table(table.domain, codes)).found[-1].endswith("1 value (0.1%) is missing.")


def test_rows_with_weights_count_as_many():
    table = sf.datasets.make_chain(4, seed=1).sample(20, method="perfect", seed=1)
    said = tell(make_star(4), table=table, sample_weight=np.full(20, 75.5)).found[-1]
    assert said == "This was learned from 20 rows that count as 1,510."


# --- What it does not say ---


def test_limits_are_told_with_the_penalty():
    assert tell(make_star()).limits == (
        "Edges are not causes: they say which variables go together once all others in the table are known, not why.",
        "A pair without an edge is not proven to be independent: what is too weak for this penalty (alpha = 0.1) is "
        "left out.",
        "The penalty shrinks weights towards zero: the odds ratios that are told here are rather too close to 1 than "
        "too far from it.",
    )


def test_weights_without_a_penalty_are_not_called_shrunken():
    fit = make_star()
    free = replace(fit, support=fit.model.interactions != 0)
    assert "rather too large than too small" in tell(free).limits[-1]
    none = replace(fit, alpha=0.0)
    assert not any("shrinks" in sentence for sentence in tell(none).limits)


def test_numbers_of_times_are_readable():
    assert [as_times(value) for value in (0.0, np.log(1.96), np.log(12.3), np.log(2345.0))] == [
        "1.00",
        "1.96",
        "12",
        "2,345",
    ]
    assert as_times(float(np.log(expit(2.0)))) == "0.88"


def test_edges_that_no_penalty_chose_are_told_without_one(tmp_path):
    table = sf.datasets.make_chain(6, strength=(0.8, 1.2), seed=2).sample(800, method="perfect", seed=1)
    fit = sf.learn(table, seed=1)
    said = " ".join(describe_limits(fit))
    assert "penalty shrinks" not in said
    assert "for this penalty" not in said
    assert "not shrunken by a penalty" in said
    write_report(fit, tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Why these edges" in text
    assert "Why this penalty" not in text
    rows = np.random.default_rng(1).integers(0, 2, (300, 6))
    empty = sf.learn(sf.encode(rows), seed=1)
    assert empty.model.n_edges == 0
    assert "may all be independent" in str(tell(empty))
