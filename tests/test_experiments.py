"""The paper's experiments: a quick run of all of them through the command line, judged by what it wrote."""

import json
import re
import shutil
from pathlib import Path

import matplotlib.image
import networkx as nx
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import exact_chains
from sparsefield import PairwiseMRF, experiments
from sparsefield._graph import edge_auc
from sparsefield.certificates import fischer
from sparsefield.certificates._fischer import fischer_sweeps
from sparsefield.cli import app
from sparsefield.datasets import load_senate, make_field
from sparsefield.experiments import EXPERIMENTS, write_pages
from sparsefield.experiments._claims import judge
from sparsefield.experiments._law import Law
from sparsefield.experiments._trials import QUICK, find_optimum, make_trial, run_newton
from sparsefield.experiments._votes import NELSON, ROCKEFELLER, load_votes

DOCS = Path(__file__).parents[1] / "docs" / "paper"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run everything at its small size, once."""
    folder = tmp_path_factory.mktemp("paper") / "made"
    result = CliRunner().invoke(app, ["paper", "--quick", "--output", str(folder)])
    assert result.exit_code == 0, result.output
    assert "verdict" in result.output
    return folder


def numbers_of(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def rows_of(numbers, chains):
    return {row["method"]: row for row in numbers["methods"] if row["chains"] == chains}


def test_every_experiment_leaves_numbers_with_what_made_them(folder):
    for name in EXPERIMENTS:
        made_by = numbers_of(folder, name)["made_by"]
        assert made_by["command"].startswith("sparsefield paper --quick --output")
        assert made_by["quick"]
        assert made_by["processor"]
        assert made_by["versions"]["sparsefield"]


def test_pages_show_every_picture_and_lead_to_files_that_are_there(folder):
    shown = set()
    for page in ("index.md", "headline.md"):
        text = (folder / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)]+)\)", text):
            assert (folder / target).exists(), (page, target)
            shown.add(target)
        assert "quick run" in text
    assert {path.name for path in folder.glob("*.png")} <= shown
    assert not list(folder.glob("*.part"))


def test_pictures_show_something(folder):
    pictures = sorted(folder.glob("*.png"))
    assert len(pictures) == 13
    for path in pictures:
        image = matplotlib.image.imread(path)
        assert min(image.shape[:2]) > 300, path
        assert len(np.unique(image[::5, ::5, :3].reshape(-1, 3), axis=0)) > 10, path


def test_every_claim_has_a_number_and_stands_in_the_page(folder):
    claims = write_pages(folder)
    assert len(claims) == 16
    page = (folder / "index.md").read_text(encoding="utf-8")
    for claim in claims:
        assert re.search(r"\d", claim.evidence), claim
        assert f"| {claim.words} | **{claim.verdict}** | {claim.evidence} |" in page


# --- What quick runs can carry ---


def test_every_bound_is_above_the_exact_bias_in_every_iteration(folder):
    frame = pl.read_csv(folder / "tightness.csv")
    assert len(frame) == 30
    for bound in ("paper", "sharp", "coalescence", "fischer"):
        assert np.all(frame[bound].to_numpy() >= frame["bias"].to_numpy()), bound
    assert np.all(frame["persistent"].to_numpy() >= frame["persistent_bias"].to_numpy())
    # The bias from the uniform start of the chains is no larger than from the worst one.
    assert np.all(frame["bias"].to_numpy() >= frame["bias_from_random"].to_numpy())
    assert np.all(frame["sharp"].to_numpy() <= frame["paper"].to_numpy())
    assert set(numbers_of(folder, "tightness")["violations"].values()) == {0}


def test_errors_of_chains_are_no_larger_than_their_number_allows(folder):
    frame = pl.read_csv(folder / "tightness.csv")
    # m = 55 means of n = 2000 values in {0, 1}: the squared norm of their noise is m / (4 n) at most, on average. Its
    # standard deviation is below sqrt(2) times that, whatever the correlations: the mean of 30 is five of its own above
    # with a probability of about 3e-7.
    most = 55 / (4 * 2000)
    squares = (frame["error"] ** 2 - frame["bias"] ** 2).mean()
    assert 0 < squares < most * (1 + 5 * np.sqrt(2 / 30))


def test_sweeps_follow_each_schedule(folder):
    for size in (10, 20):
        frame = pl.read_csv(folder / f"structure-{size}.csv").filter(pl.col("chains") == "restart")
        n_many = QUICK[size].n_many
        sweeps = {name: own.sort("iteration")["sweeps"].to_numpy() for (name,), own in frame.group_by("method")}
        places = np.arange(1, QUICK[size].n_iter + 1)
        np.testing.assert_array_equal(sweeps["SPG-Inc"], places)
        np.testing.assert_array_equal(sweeps["SPG, 1 sweep"], 1)
        np.testing.assert_array_equal(sweeps[f"SPG, {n_many} sweeps"], n_many)
        # A model without parameters needs one sweep; as it grows, so do the sweeps.
        assert sweeps["TAY"][0] == 1
        assert sweeps["TAY"][-5:].mean() > sweeps["TAY"][1:6].mean()
    tay = rows_of(numbers_of(folder, "structure-10"), "restart")["TAY"]
    assert tay["certified"] == 1
    assert 10**0.5 <= tay["sweeps_late"] <= 10**1.5


def test_bounding_chains_certify_where_the_papers_bound_does_not(folder):
    numbers = numbers_of(folder, "structure-20")
    assert rows_of(numbers, "restart")["TAY"]["certified"] < 0.9
    assert rows_of(numbers, "beyond")["TAY, bounding chains"]["certified"] == 1


def test_newton_steps_end_nearer_to_the_optimum_than_the_papers(folder):
    for size in (10, 20):
        numbers = numbers_of(folder, f"structure-{size}")
        newton = rows_of(numbers, "beyond")["Newton"]
        others = [row["gap"] for row in numbers["methods"] if row["method"] != newton["method"]]
        assert 0 < newton["gap"] < min(others)
        for optimum in numbers["optimum"]:
            assert optimum["violation"] <= optimum["alpha"] / 30


def test_one_sweep_is_far_from_the_optimum_only_where_chains_start_anew(folder):
    numbers = numbers_of(folder, "structure-20")
    gaps = {chains: rows_of(numbers, chains)["SPG, 1 sweep"]["gap"] for chains in ("restart", "persistent")}
    assert gaps["restart"] > 3 * gaps["persistent"]


def test_the_senate_clusters_by_party_once_converged(folder):
    numbers = numbers_of(folder, "headline")
    for fit in numbers["converged"].values():
        assert fit["assortativity"] > 0.5
        assert fit["slope"] < 0.1  # alpha: no entry of the slope is off by as much as the penalty
    assert numbers["converged"]["nay"]["bias"] == 0


def test_the_file_for_gephi_is_the_network_of_the_numbers(folder):
    graph, numbers = nx.read_gexf(folder / "senate.gexf"), numbers_of(folder, "senate")
    assert graph.number_of_nodes() == 100
    assert graph.number_of_edges() == numbers["positive"]
    assert all(weight > 0 for _, _, weight in graph.edges(data="weight"))
    party = nx.get_node_attributes(graph, "party")
    across = [(a, b) for a, b in graph.edges if {party[a], party[b]} == {"D", "R"}]
    assert len(across) == numbers["across"]
    assert sum(ROCKEFELLER in edge for edge in across) == numbers["rockefeller"]
    assert nx.attribute_assortativity_coefficient(graph, "party") == pytest.approx(numbers["assortativity"])
    assert graph.nodes[NELSON]["viz"]["color"] == {"r": 31, "g": 95, "b": 168, "a": 1.0}


def test_tables_of_the_headline_agree_with_its_numbers(folder):
    numbers = numbers_of(folder, "headline")
    senators = pl.read_csv(folder / "headline-senators.csv")
    votes = load_senate().votes
    assert dict(senators.select("senator", "missed").iter_rows()) == numbers["missed"]
    assert senators["missed"].to_list() == votes.n_holes.tolist()
    links = pl.read_csv(folder / "headline-links.csv")
    for name in ("nay", "modelled"):
        fit = numbers["converged"][name]
        # A link between the parties belongs to two senators.
        assert senators[f"across_{name}"].sum() == 2 * fit["across"]
        assert (links[f"weight_{name}"] > 0).sum() == fit["across"]
        assert (links[f"resamples_{name}"] >= 0.5).sum() == numbers["resampled"][name]["in_half"]
    own = senators.filter(pl.col("senator") == NELSON)
    assert own["across_nay"][0] == numbers["converged"]["nay"]["ben_nelson"]


def test_committed_pages_are_those_of_the_committed_numbers(tmp_path):
    for path in DOCS.iterdir():
        shutil.copy(path, tmp_path / path.name)
    write_pages(tmp_path)
    for page in ("index.md", "headline.md"):
        assert (tmp_path / page).read_text(encoding="utf-8") == (DOCS / page).read_text(encoding="utf-8")
    for name in EXPERIMENTS:
        made_by = numbers_of(DOCS, name)["made_by"]
        assert not made_by["quick"]
        assert re.fullmatch("[0-9a-f]{7,}", made_by["commit"])


# --- The command ---


def test_one_experiment_can_be_run_alone(tmp_path):
    result = CliRunner().invoke(app, ["paper", "--quick", "--only", "tightness", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".csv", ".json", ".md"}
    assert {path.stem for path in tmp_path.iterdir()} == {"tightness", "index"}


def unframed(output):
    """Return an error message without the frame that wraps it."""
    return " ".join(output.replace("│", " ").split())


def test_the_command_refuses_what_it_does_not_know(tmp_path):
    result = CliRunner().invoke(app, ["paper", "--only", "figure-9"])
    assert result.exit_code == 2
    assert "use structure-10, structure-20" in unframed(result.output)
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["paper", "--quick", "--output", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "is a file: name a folder" in unframed(result.output)


def test_an_interrupt_of_a_fit_ends_the_experiment(tmp_path, monkeypatch):
    """Solvers turn an interrupt into a result that says so; here it must not count as one."""
    made = []

    def interrupt(record):
        made.append(record)
        trial = make_trial(QUICK[10], 1)

        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("sparsefield._newton.find_move", stop)
        run_newton(trial, 0.1)

    monkeypatch.setitem(experiments.EXPERIMENTS, "senate", interrupt)
    result = CliRunner().invoke(app, ["paper", "--quick", "--only", "senate", "--output", str(tmp_path)])
    assert result.exit_code == 130
    assert len(made) == 1


def test_numbers_of_another_form_are_as_if_they_were_not_there(tmp_path):
    for text in ('{"made_by": {"format": 0}}', '{"methods": []}'):
        (tmp_path / "structure-10.json").write_text(text)
        assert write_pages(tmp_path) == []


def test_an_interrupt_keeps_what_was_finished(tmp_path, monkeypatch):
    def interrupt(record):
        record.tell(0.5)
        raise KeyboardInterrupt

    monkeypatch.setitem(experiments.EXPERIMENTS, "senate", interrupt)
    options = ["paper", "--quick", "--only", "tightness", "--only", "senate", "--output", str(tmp_path)]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 130
    assert "Interrupted" in result.output
    assert "Tightness" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert not list(tmp_path.glob("senate*"))


# --- Parts ---


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


def test_the_auc_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    truth = make_field(12, seed=2)
    pairs = np.triu_indices(12, 1)
    values = rng.integers(-3, 4, size=(5, 12, 12)).astype(float)  # with ties
    values += values.transpose(0, 2, 1)
    found = edge_auc(values, truth)
    for own, value in zip(found, values, strict=True):
        expected = roc_auc_score(truth.interactions[pairs] != 0, np.abs(value[pairs]))
        assert own == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="an edge and a pair without one"):
        edge_auc(values, make_field(12, 0.0, seed=1))


def test_fischers_sweeps_are_those_of_its_bound():
    weak = PairwiseMRF.binary([0.1, -0.2], [[0.0, 0.3], [0.3, 0.0]])
    for bias in (1.0, 0.01):
        n = fischer_sweeps(weak, bias)
        assert fischer(weak, int(np.floor(n))).bias >= bias >= fischer(weak, int(np.ceil(n))).bias
    assert fischer_sweeps(PairwiseMRF.binary([0.0], [[0.0]]), 0.01) == 1


@pytest.mark.parametrize("penalty", [0.02, 0.1])
def test_the_optimum_is_that_of_another_solver(penalty):
    trial = make_trial(QUICK[10], 2)
    problem = trial.problem(penalty)
    theta, violation = find_optimum(problem, 1)
    _, lowest = exact_chains.penalised_optimum(problem.data.pair, problem.penalty)
    # By convexity the objective is above its optimum by at most the slope times the distance, in the dual norms.
    assert problem.objective(theta) - lowest <= violation * (np.abs(theta).sum() + 10 * np.log(2) / penalty)
    assert violation <= penalty / 30


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


# --- Verdicts follow the numbers ---


def structure(tay_auc, tay_seconds, one_auc, sweeps_late=8.0, certified=1.0):
    def row(method, auc, seconds, **more):
        wiggle = 0.001 * np.sin(100 * len(method))  # differs between methods, so that differences vary
        aucs = [auc - wiggle, auc, auc + wiggle]
        goals = {"seconds_to_goal": [seconds] * 3, "sweeps_to_goal": [seconds] * 3}
        return {"method": method, "chains": "restart", "alpha": 0.1, "auc": auc, "aucs": aucs} | goals | more

    rows = [
        row("TAY", tay_auc, tay_seconds, sweeps_late=sweeps_late, certified=certified),
        row("SPG, 30 sweeps", 0.9, 1.0),
        row("SPG, 1 sweep", one_auc, 1.0),
        row("SPG-Inc", 0.9, 1.0),
    ]
    methods = rows + [own | {"chains": "persistent"} for own in rows]
    return {"structure-10": {"settings": {"alphas": [0.1], "n_many": 30}, "methods": methods}}


def verdicts(numbers):
    return {claim.name: claim.verdict for claim in judge(numbers)}


def test_verdicts_on_structure_learning_follow_the_numbers():
    found = verdicts(structure(0.9, 0.3, 0.8))
    assert found == {
        "time-10": "confirmed",
        "lowest-10": "confirmed",
        "lowest-persistent-10": "confirmed",
        "sweeps-10": "confirmed",
    }
    assert verdicts(structure(0.9, 0.7, 0.8))["time-10"] == "refuted"
    assert verdicts(structure(0.8, 0.3, 0.7))["time-10"] == "refuted"
    assert verdicts(structure(0.95, 0.3, 0.8))["time-10"] == "confirmed"
    assert verdicts(structure(0.9, 0.3, 0.91))["lowest-10"] == "refuted"
    assert verdicts(structure(0.9, 0.3, 0.9))["lowest-10"] == "open"
    assert verdicts(structure(0.9, 0.3, 0.8, certified=0.5))["time-10"] == "open"
    assert verdicts(structure(0.9, 0.3, 0.8, sweeps_late=80.0))["sweeps-10"] == "refuted"
    assert verdicts(structure(0.9, 0.3, 0.8, certified=0.5))["sweeps-10"] == "refuted"
    slow = structure(0.9, 0.3, 0.8)
    slow["structure-10"]["methods"][0]["seconds_to_goal"] = [0.9, 0.9, None]
    assert verdicts(slow)["time-10"] == "confirmed in part"


def headline(converged, has_a_link, assortativity=0.9, as_paper=(0.9, 0.9), is_converged=True, may_be=0):
    fit = {"rockefeller": converged, "assortativity": assortativity, "is_converged": is_converged}
    fit |= {"rockefeller_may_be": may_be}
    return {
        "headline": {
            "converged": {"nay": fit, "modelled": fit},
            "as_paper": [{"rockefeller": 40, "assortativity": value} for value in as_paper],
            "resampled": {way: {"senators": {ROCKEFELLER: {"has_a_link": has_a_link}}} for way in ("nay", "modelled")},
        }
    }


def pseudo(n_variables, difference, error=0.01):
    size = {"n_variables": n_variables, "difference": difference, "difference_error": error, "n_alphas": 4}
    size |= {"tay": 0.9, "pseudo": 0.9 - difference, "best_difference": 0.0, "best_difference_error": 0.0}
    return {"pseudolikelihood": {"sizes": [size]}}


def test_verdicts_on_the_pseudo_likelihood_follow_the_numbers():
    assert verdicts(pseudo(10, 0.001)) == {"pseudo-10": "confirmed", "better-10": "open"}
    assert verdicts(pseudo(10, -0.05)) == {"pseudo-10": "refuted", "better-10": "confirmed"}
    assert verdicts(pseudo(20, 0.05)) == {"pseudo-20": "refuted", "better-20": "confirmed"}
    assert verdicts(pseudo(20, -0.05)) == {"pseudo-20": "refuted", "better-20": "refuted"}
    assert verdicts(pseudo(20, 0.05, error=0.04)) == {"pseudo-20": "open", "better-20": "open"}


def tightness(over_error, over_bias, below=0.5, fischer_over=1e5):
    return {
        "tightness": {
            "over_error": {"paper": over_error, "fischer": fischer_over},
            "over_bias": {"paper": over_bias, "sharp": 1.0},
            "paper_below_error": below,
            "bias_in_error": 0.1,
            "fischer_sweeps": 1e6,
            "settings": {"n_chains": 2000},
        }
    }


def test_verdicts_on_tightness_follow_the_numbers():
    assert verdicts(tightness(0.5, 3.0)) == {"tight": "confirmed", "fischer": "confirmed"}
    assert verdicts(tightness(0.5, 300.0))["tight"] == "confirmed in part"
    assert verdicts(tightness(50.0, 300.0))["tight"] == "refuted"
    assert verdicts(tightness(5.0, 3.0, below=0.0))["tight"] == "refuted"
    assert verdicts(tightness(0.5, 3.0, fischer_over=10.0))["fischer"] == "refuted"


def test_verdicts_on_the_senate_follow_the_numbers():
    assert verdicts(headline(0, 0.1)) == {"party": "confirmed", "headline": "refuted"}
    assert verdicts(headline(0, 0.6))["headline"] == "open"
    assert verdicts(headline(2, 0.1))["headline"] == "refuted"
    assert verdicts(headline(7, 0.9))["headline"] == "confirmed"
    assert verdicts(headline(7, 0.9, is_converged=False))["headline"] == "open"
    assert verdicts(headline(0, 0.1, may_be=5))["headline"] == "open"
    for as_paper in [(0.9, 0.2), (0.9, None), (None, None)]:
        assert verdicts(headline(0, 0.1, as_paper=as_paper))["party"] == "confirmed in part"
    assert verdicts(headline(0, 0.1, assortativity=None))["party"] == "refuted"
    assert verdicts(headline(0, 0.1, assortativity=0.2))["party"] == "refuted"
