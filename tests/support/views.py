"""Pages with the interactive network, for tests: how they are written, waited for, and looked at."""

import json
from io import BytesIO

import matplotlib.image as mpimg
import numpy as np

import sparsefield as sf
from sparsefield.fits import Fit, Status
from sparsefield.network import Network
from sparsefield.report._view import describe_network, read_view

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,"><style>{style} body {{ margin: 10px }} #network {{ height: 560px }}</style></head><body>
<div id="legend"></div><div id="network"></div><p style="height: 2000px">What stands below.</p>
<script id="data" type="application/json">{data}</script><script>{script}
const told = [];
const view = NetworkView.make(document.getElementById("network"),
  JSON.parse(document.getElementById("data").textContent),
  {{ legend: document.getElementById("legend"), empty: "Nothing is joined: try a smaller penalty." }});
view.onSelect((what) => told.push(what));
document.body.dataset.ready = "yes";</script></body></html>"""
# Wait in the page until something holds: at most ten seconds, and by frames.
UNTIL = """() => new Promise((resolve, reject) => {
  const end = performance.now() + 10_000;
  const look = () => {
    if (%s) resolve(view.state());
    else if (performance.now() > end) reject(new Error("It did not come."));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""
NEAR = 1e-3  # pixels: browsers keep the place of a pointer as a number of 24 bits


def write_view(path, data):
    """Write a page with the view of a network."""
    script, style = read_view()
    text = json.dumps(data).replace("<", "\\u003c")
    path.write_text(PAGE.format(style=style, script=script, data=text), encoding="utf-8")
    return path


def describe(model, groups=None, undecided=None, **more):
    fit = Fit(model, Status("converged", "It ended."), (), alpha=0.1, undecided=undecided)
    return describe_network(Network.of(fit), groups=groups, colors=None, seed=1, **more)


def join(names, weights, undecided=()):
    """Return the network of a few named variables with weights at pairs."""
    interactions, marks = np.zeros((2, len(names), len(names)))
    for (a, b), weight in weights.items():
        interactions[a, b] = interactions[b, a] = weight
    for a, b in undecided:
        marks[a, b] = marks[b, a] = 1
    model = sf.PairwiseMRF.binary(np.zeros(len(names)), interactions, names=names)
    return describe(model, undecided=marks.astype(bool))


def make_few():
    """Return a network of four variables: ann is joined with bob (positive) and with cat (negative, undecided)."""
    data = join(["ann", "bob", "cat", "dan"], {(0, 1): 1.0, (0, 2): -1.0}, undecided=[(0, 2)])
    for node, (x, y) in zip(data["nodes"], [(0, 0), (1, 0), (-1, 0.5), (0.5, -0.7)], strict=True):
        node.update(x=x, y=y)
    return data


def make_parts():
    """Return a network of three components, of 12, 8 and 5 variables, and of six without edges."""
    names = [f"v{k:02}" for k in range(31)]
    starts = {0: 12, 12: 8, 20: 5}
    weights = {(start + k, start + (k + 1) % n): 0.5 + 0.1 * k for start, n in starts.items() for k in range(n)}
    return join(names, weights), [range(start, start + n) for start, n in starts.items()]


def until(page, condition):
    return page.evaluate(UNTIL % condition)


def rest(page):
    """Wait until nothing moves, and return the state."""
    return until(page, "view.state().isResting")


def locate(page, point):
    """Return where a point of the network is on the page."""
    box = page.locator("#network > canvas").bounding_box()
    return np.add([box["x"], box["y"]], point)


def pixels(page, points):
    """Return the colours that are seen at points of the network."""
    image = mpimg.imread(BytesIO(page.locator("#network").screenshot()))
    x, y = np.asarray(points).astype(int).T
    return np.rint(255 * image[y, x, :3]).astype(int)


def as_rgb(color):
    return np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)])


def along(state, a, b, parts):
    """Return points on the line between two nodes."""
    start, end = (np.array(state["positions"][k]) for k in (a, b))
    return [start + part * (end - start) for part in parts]


def drag_by(page, start, move):
    x, y = locate(page, start)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + move[0] / 2, y + move[1] / 2)
    page.mouse.move(x + move[0], y + move[1])
    page.mouse.up()


def overlaps(boxes):
    return [
        (one["node"], other["node"])
        for k, one in enumerate(boxes)
        for other in boxes[:k]
        if one["left"] < other["right"]
        and other["left"] < one["right"]
        and one["top"] < other["bottom"]
        and other["top"] < one["bottom"]
    ]


def entries(page):
    """Return what the legend says."""
    return page.eval_on_selector_all("#legend .network-entry", "all => all.map((own) => own.textContent)")
