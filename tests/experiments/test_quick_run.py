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
from typer.testing import CliRunner

from sparsefield.cli import app
from sparsefield.datasets import load_senate
from sparsefield_experiments import EXPERIMENTS, write_pages
from sparsefield_experiments._sizes import METHODS
from sparsefield_experiments._trials import QUICK
from sparsefield_experiments._votes import COLORS, NELSON, ROCKEFELLER

DOCS = Path(__file__).parents[2] / "docs" / "paper"


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
    assert len(pictures) == 14
    for path in pictures:
        image = matplotlib.image.imread(path)
        assert min(image.shape[:2]) > 300, path
        assert len(np.unique(image[::5, ::5, :3].reshape(-1, 3), axis=0)) > 10, path


def test_every_claim_has_a_number_and_stands_in_the_page(folder):
    claims = write_pages(folder)
    assert len(claims) == 17
    page = (folder / "index.md").read_text(encoding="utf-8")
    for claim in claims:
        assert re.search(r"\d", claim.evidence), claim
        assert f"| {claim.words} | **{claim.verdict}** | {claim.evidence} |" in page


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


def test_larger_networks_have_a_row_for_each_method(folder):
    rows = numbers_of(folder, "sizes")["methods"]
    assert {(row["n_variables"], row["method"]) for row in rows} == {(p, name) for p in (10, 20) for name in METHODS}
    for row in rows:
        assert 0.5 < row["auc"] <= 1
        assert row["seconds_an_iteration"] > 0
        assert row["certified"] == (None if row["method"].startswith("SPG") else 1)
    # Whoever sets the goal reaches it.
    assert all(row["seconds_to_goal"] > 0 for row in rows if row["method"] == "SPG, 60 sweeps")


def test_newton_steps_end_nearer_to_the_optimum_than_the_papers(folder):
    for size in (10, 20):
        numbers = numbers_of(folder, f"structure-{size}")
        newton = rows_of(numbers, "beyond")["Newton"]
        rows = [row for row in numbers["methods"] if row["alpha"] == newton["alpha"]]
        others = [row["gap"] for row in rows if row["method"] != newton["method"]]
        violations = {optimum["alpha"]: optimum["violation"] for optimum in numbers["optimum"]}
        assert all(violation <= 1e-6 * alpha for alpha, violation in violations.items())
        # By convexity the optimum is no higher than that for each parameter, none of which is off by 1.
        least = -violations[newton["alpha"]] * size * (size + 1) / 2
        assert least <= newton["gap"] < min(others)


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
    parts = bytes.fromhex(COLORS["D"].removeprefix("#"))
    assert graph.nodes[NELSON]["viz"]["color"] == {**dict(zip("rgb", parts, strict=True)), "a": 1.0}


def test_tables_of_the_headline_agree_with_its_numbers(folder):
    numbers = numbers_of(folder, "headline")
    senators = pl.read_csv(folder / "headline-senators.csv")
    votes = load_senate().votes
    assert dict(senators.select("senator", "missed").iter_rows()) == numbers["missed"]
    assert senators["missed"].to_list() == votes.n_missing.tolist()
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
