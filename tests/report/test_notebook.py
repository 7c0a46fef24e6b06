"""What notebooks and terminals show of a fit and of other results."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from sklearn import config_context

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.fits import Fit, Optimality, Status
from sparsefield.network import Network, make_graph
from sparsefield.report import show_fit
from support.pages import ARTEFACTS
from support.problems import make_table

TABLE = make_table(5, 300)
LONGEST = 100  # letters of a line


@pytest.fixture(scope="module")
def fit():
    return sf.learn(TABLE, 0.03, seed=1)


def fit_of(model, **more):
    return Fit(model, Status("converged", "It ended <b>well</b>."), (), alpha=0.1, **more)


class Frames(HTMLParser):
    """What stands in a frame, and the text beside it."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.documents, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "iframe":
            self.documents.append(dict(attributes)["srcdoc"])
            assert dict(attributes)["sandbox"] == "allow-scripts"

    def handle_data(self, data):
        self.text += data


def data_in(html):
    (document,) = Frames(html).documents
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', document, re.DOTALL)
    return json.loads(text)


def test_a_fit_is_one_line(fit):
    n = Network.of(fit).n_edges
    assert repr(fit) == f"<Fit: 5 variables, {n} edges, alpha = 0.03, converged, no bias of the last gradient>"
    certified = replace(fit, optimality=Optimality(0.0123, 0.1, 0.99, 1000))
    assert repr(certified).endswith("converged, gap at most 0.0123>")
    assert repr(replace(fit, steps=())).endswith("converged, no certificate>")
    biased = replace(fit, steps=(replace(fit.steps[-1], certificate=0.01),))
    assert repr(biased).endswith("bias of the last gradient at most 0.01>")
    useless = replace(fit, steps=(replace(fit.steps[-1], certificate=1e6),))
    assert repr(useless).endswith("converged, no certificate>")


def test_a_printed_fit_says_how_it_ended_and_what_is_certified(fit):
    assert str(fit).splitlines()[1:] == [fit.status.sentence, fit.certified]
    optimality = Optimality(0.0123, 0.1, 0.99, 1000)
    assert str(replace(fit, optimality=optimality)).splitlines()[1:] == [fit.status.sentence, str(optimality)]


def test_results_have_no_arrays_in_their_names():
    table = make_field(300, degree=2, seed=1).sample(20, seed=1, n_sweeps=2)
    model = make_field(300, degree=2, seed=1)
    assert repr(model) == f"<PairwiseMRF: 300 variables, {Network.of(model).n_edges} edges>"
    assert repr(Network.of(model)) == f"<Network: 300 variables, {Network.of(model).n_edges} edges>"
    assert repr(table) == "<Table: 20 rows, 300 variables: 'x0', 'x1', 'x2', 'x3', 'x4', ...>"
    assert repr(sf.encode([[0, None], [1, 1], [1, 0]])) == "<Table: 3 rows, 2 variables, 1 missing value: 'x0', 'x1'>"
    assert len(repr(fit_of(model))) < LONGEST


def test_many_fits_are_one_line():
    path = sf.path(TABLE, [0.2, 0.03])
    assert repr(path) == f"<Path: 2 fits, alpha 0.2 to 0.03, 0 to {path.table['edges'][-1]} edges>"
    assert repr(replace(path, is_whole=False)).endswith("edges, not whole>")
    assert repr(replace(path, fits=())) == "<Path: no fits>"
    chosen = sf.SparseMRF(sf.EBIC(alphas=[0.1, 0.03]), random_state=1).fit(TABLE).choice_
    assert repr(chosen) == f"<Choice: {chosen.sentence}>"
    again = sf.bootstrap(sf.PseudoLikelihood(0.03), TABLE, n=3, seed=1)
    assert repr(again) == f"<Bootstrap: {again.sentence}>"
    fewer = sf.stability(sf.PseudoLikelihood(0.03), TABLE, n=3, shares=(0.5,), seed=1)
    assert repr(fewer) == f"<Stability: {fewer.sentence}>"


def test_certificates_are_sentences():
    model = make_field(4, strength=(0.1, 0.2), seed=1)
    bound = sf.certificates.dobrushin(model, 10)
    assert repr(bound) == f"<Certificate: {bound}>"
    drawn = sf.data.moments_of_table(model.sample(500, seed=1))
    error = sf.certificates.concentration(model, drawn, bound)
    assert repr(error) == f"<Concentration: {error}>"


@pytest.mark.parametrize("reference", [(0, 0, 0), None])
def test_edges_are_pairs_of_variables_and_not_of_levels(reference):
    domain = sf.Domain(("a", "b", "c"), ((0, 1, 2), (0, 1, 2), (0, 1)), reference)
    interactions = np.zeros((domain.n_slots,) * 2)
    of = domain.slot_variables
    interactions[np.ix_(of == 0, of == 1)] = [[1, -1], [2, 1]] if reference else [[1, -1, 0], [2, 1, -3], [-3, 0, 3]]
    model = sf.PairwiseMRF(domain, np.zeros(domain.n_slots), interactions + interactions.T)
    assert model.n_edges == Network.of(model).n_edges == 1


def test_a_notebook_shows_the_network_and_the_sentences(fit):
    html = fit._repr_html_()
    network = Network.of(fit)
    drawn = data_in(html)
    assert [node["name"] for node in drawn["nodes"]] == list(network.names)
    assert len(drawn["edges"]) == network.n_edges
    for line in str(fit).splitlines():
        assert line in Frames(html).text


def test_a_notebook_shows_the_network_of_an_estimator_below_its_diagram():
    mrf = sf.SparseMRF(0.03, random_state=1)
    bare = mrf._repr_mimebundle_()["text/html"]
    assert "<iframe" not in bare + mrf._repr_html_()
    mrf.fit(TABLE)
    for html in (mrf._repr_html_(), mrf._repr_mimebundle_()["text/html"]):
        assert html.endswith(mrf.fit_._repr_html_())
        assert html.index("SparseMRF") < html.index("<iframe")
    with config_context(display="text"):
        assert list(mrf._repr_mimebundle_()) == ["text/plain"]


def test_where_frames_are_stripped_the_sentences_remain(fit):
    html = re.sub(r"<iframe.*?</iframe>", "", fit._repr_html_(), flags=re.DOTALL)
    assert Frames(html).tags == ["div", "p", "p", "p"]
    assert Frames(html).text.split("\n")[-1] == "".join(str(fit).splitlines())


def test_an_output_is_small_and_asks_for_nothing_from_outside(fit):
    html = fit._repr_html_()
    assert len(html.encode()) < 100_000
    (document,) = Frames(html).documents
    assert "default-src 'none'" in document
    assert not re.findall(r"https?://", document)


def test_names_and_sentences_cannot_be_markup():
    names = ["<script>alert(1)</script>", "' onload='alert(1)", "</iframe>&#39;", "a&b"]
    model = sf.PairwiseMRF.binary(np.zeros(4), np.ones((4, 4)) - np.eye(4), names=names)
    html = show_fit(fit_of(model))
    assert [node["name"] for node in data_in(html)["nodes"]] == names
    assert Frames(html).tags == ["div", "iframe", "p", "p", "p"]
    assert "<script>alert" not in html + Frames(html).documents[0]
    assert "It ended <b>well</b>." in Frames(html).text


def test_of_large_networks_the_strongest_edges_are_shown():
    model = make_field(400, degree=3, seed=1)
    html = show_fit(fit_of(model))
    assert "The picture has the 300 variables with the strongest edges." in html
    network = Network.of(model)
    drawn = data_in(html)
    assert len(drawn["nodes"]) == 300
    strongest = network.edges.sort(pl.col("weight").abs(), descending=True).row(0, named=True)
    first, second, *_ = drawn["edges"][0]
    assert {drawn["nodes"][first]["name"], drawn["nodes"][second]["name"]} == {strongest["first"], strongest["second"]}
    degrees = dict(make_graph(network).degree)
    assert all(node["degree"] == degrees[node["name"]] for node in drawn["nodes"])  # of the whole network
    assert "The picture has" not in show_fit(fit_of(make_field(30, degree=3, seed=1)))


def test_a_network_without_edges_is_shown():
    one, many = (show_fit(fit_of(sf.PairwiseMRF.binary(np.zeros(p), np.zeros((p, p))))) for p in (1, 60))
    assert len(data_in(one)["nodes"]) == 1
    assert len(data_in(many)["nodes"]) == 60
    assert "60 variables, 0 edges" in Frames(many).text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_network_of_a_notebook_can_be_moved(fit, browser, tmp_path, theme):
    (tmp_path / "output.html").write_text(f"<!DOCTYPE html><meta charset=utf-8>{fit._repr_html_()}", encoding="utf-8")
    page = browser.new_page(viewport={"width": 900, "height": 700}, color_scheme=theme)
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((tmp_path / "output.html").as_uri())
    (frame,) = (own for own in page.frames if own is not page.main_frame)
    frame.wait_for_selector("body[data-ready=yes]")
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"notebook-{theme}.png")
    network = frame.locator("#network")
    before = network.screenshot()
    network.press("+")
    assert network.screenshot() != before
    assert frame.locator("#legend").inner_text().split("\n")[0].endswith("edge")
    page.close()
    assert complaints == []
