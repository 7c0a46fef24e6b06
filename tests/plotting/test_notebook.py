"""What notebooks and terminals show of a fit and of other results."""

import re
from base64 import b64decode
from dataclasses import replace
from io import BytesIO

import matplotlib.image as mpimg
import numpy as np
import pytest

import sparsefield as sf
from problems import make_table
from sparsefield.datasets import make_field
from sparsefield.fits import Fit, Optimality, Status
from sparsefield.network import Network, make_graph
from sparsefield.plotting import place_nodes, show_fit

TABLE = make_table(5, 300)
LONGEST = 100  # letters of a line


@pytest.fixture(scope="module")
def fit():
    return sf.learn(TABLE, 0.03, seed=1)


def fit_of(model, **more):
    return Fit(model, Status("converged", "It ended <b>well</b>."), (), alpha=0.1, **more)


def picture_in(html):
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return mpimg.imread(BytesIO(b64decode(picture)))


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
    chosen = sf.SparseMRFCV([0.1, 0.03], random_state=1).fit(TABLE).choice_
    assert repr(chosen) == f"<Choice: {chosen.sentence}>"
    again = sf.bootstrap(sf.PseudoLikelihood(0.03), TABLE, n=3, seed=1)
    assert repr(again) == f"<Bootstrap: {again.sentence}>"
    fewer = sf.stability(sf.PseudoLikelihood(0.03), TABLE, n=3, shares=(0.5,), seed=1)
    assert repr(fewer) == f"<Stability: {fewer.sentence}>"


def test_certificates_are_sentences():
    model = make_field(4, strength=(0.1, 0.2), seed=1)
    bound = sf.certificates.dobrushin(model, 10)
    assert repr(bound) == f"<Certificate: {bound}>"
    drawn = sf.moments_of_table(model.sample(500, seed=1))
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
    picture = picture_in(html)
    assert picture.std() > 0  # something is drawn
    for line in str(fit).splitlines():
        assert line in html


def test_names_and_sentences_cannot_be_markup():
    names = ["<script>alert(1)</script>", "$x_1$", "\u732b", "a&b"]  # a letter that the font lacks, too
    model = sf.PairwiseMRF.binary(np.zeros(4), np.ones((4, 4)) - np.eye(4), names=names)
    html = show_fit(fit_of(model))
    assert "<script" not in html
    assert "It ended &lt;b&gt;well&lt;/b&gt;." in html


def test_of_large_networks_the_strongest_edges_are_shown():
    model = make_field(300, degree=3, seed=1)
    html = show_fit(fit_of(model))
    assert "The picture has the 50 variables with the strongest edges." in html
    assert len(html) < 300_000
    assert "The picture has" not in show_fit(fit_of(make_field(50, degree=3, seed=1)))


def test_a_network_without_edges_is_shown():
    one, many = (show_fit(fit_of(sf.PairwiseMRF.binary(np.zeros(p), np.zeros((p, p))))) for p in (1, 60))
    assert picture_in(one).std() > 0
    assert "60 variables, 0 edges" in many
    assert "picture" not in many
    assert "<img" not in many


def test_edges_between_nodes_of_the_row_below_do_not_cover_each_other():
    names = [f"n{k}" for k in range(6)]
    interactions = np.zeros((6, 6))
    interactions[0, 1] = 1.0
    interactions[2, 3] = interactions[2, 5] = -1.0
    graph = make_graph(sf.PairwiseMRF.binary(np.zeros(6), interactions + interactions.T, names=names))
    below = [place_nodes(graph, seed=1)[name] for name in names[2:]]
    for k in range(2):  # no three in a line: the triangle that they make has an area
        a, b, c = below[k : k + 3]
        assert abs(np.cross([*(b - a), 0], [*(c - a), 0])[2]) > 0.01
