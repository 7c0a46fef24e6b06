"""How fluid the network of a page is, and how large, beside other engines that draw networks.

    make bench-page [PEERS=1]

A browser without a graphics card shows 300 nodes and 5,000 edges, 1280 by 1000 pixels, while a pointer drags a node,
drags the plane, and turns the wheel. Frames are counted by the page; the processor time of all processes of the browser
is divided by them. The engines of others are fetched from the npm registry with PEERS=1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright
from rich.console import Console

from measure import name_machine, store
from sparsefield import PairwiseMRF
from sparsefield.network import Network
from sparsefield.report._view import describe_network, read_view

N_NODES, N_EDGES, ROUNDS = 300, 5000, 3
WIDTH, HEIGHT = 1280, 1000
PACKAGES = {  # the engine, its packages, and their minified files
    "cytoscape": {"cytoscape@3.34.4": "package/dist/cytoscape.min.js"},
    "sigma": {
        "graphology@0.26.0": "package/dist/graphology.umd.min.js",
        "sigma@3.0.3": "package/dist/sigma.min.js",
    },
}
# Each makes the picture in #network and `where(k)`, the place of a node on the screen. Positions are those of our view.
SCRIPTS = {
    "ours": """
const view = NetworkView.make(box, data);
window.where = (k) => view.state().positions[k];""",
    "cytoscape": """
const cy = cytoscape({ container: box, layout: { name: "preset", fit: true, padding: 40 }, elements: [
  ...data.nodes.map((node, k) => ({ data: { id: `n${k}`, name: node.name },
    position: { x: 500 * node.x, y: -500 * node.y } })),
  ...data.edges.map(([a, b, weight], k) => ({ data: { id: `e${k}`, source: `n${a}`, target: `n${b}`,
    size: Math.abs(weight), color: colors[weight > 0 ? "positive" : "negative"] } }))],
  style: [
    { selector: "node", style: { width: 8, height: 8, label: "data(name)", "font-size": 12,
      "min-zoomed-font-size": 8 } },
    { selector: "edge", style: { width: "mapData(size, 0, 1, 0.6, 4)", "line-color": "data(color)", opacity: 0.2,
      "curve-style": "haystack" } }] });
window.where = (k) => { const { x, y } = cy.$id(`n${k}`).renderedPosition(); return [x, y]; };""",
    "sigma": """
const graph = new graphology.Graph();
data.nodes.forEach((node, k) => graph.addNode(`n${k}`, { x: node.x, y: node.y, size: 4, label: node.name,
  color: colors.node }));
data.edges.forEach(([a, b, weight]) => graph.addEdge(`n${a}`, `n${b}`, { size: 0.6 + 3.4 * Math.abs(weight),
  color: colors[weight > 0 ? "positive" : "negative"] + "33" }));
const renderer = new Sigma(graph, box);
let held = null;
renderer.on("downNode", ({ node }) => { held = node; renderer.setCustomBBox(renderer.getBBox()); });
renderer.on("moveBody", ({ event }) => {
  if (held === null) return;
  const { x, y } = renderer.viewportToGraph(event);
  graph.mergeNodeAttributes(held, { x, y });
  event.preventSigmaDefault();
});
for (const name of ["upNode", "upStage"]) renderer.on(name, () => { held = null; });
window.where = (k) => {
  const { x, y } = renderer.graphToViewport(graph.getNodeAttributes(`n${k}`));
  return [x, y];
};""",
}
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><style>body {{ margin: 0 }} {style}
#network {{ width: 1280px; height: 1000px }}</style></head><body><div id="network"></div><script>{engine}</script>
<script>
const box = document.getElementById("network"), data = {data}, colors = data.palette.light;
{script}
document.body.dataset.ready = "yes";</script></body></html>"""
COUNT = """() => {
  window.stamps = [];
  const note = (stamp) => { window.stamps.push(stamp); window.noted = requestAnimationFrame(note); };
  window.noted = requestAnimationFrame(note);
}"""
STOP = "() => { cancelAnimationFrame(window.noted); return window.stamps; }"


def make_network() -> dict[str, Any]:
    """Make a network of random edges, half of them negative."""
    rng = np.random.default_rng(1)
    pairs = np.column_stack(np.triu_indices(N_NODES, 1))
    first, second = rng.choice(pairs, N_EDGES, replace=False).T
    interactions = np.zeros((N_NODES, N_NODES))
    interactions[first, second] = rng.uniform(0.05, 1, N_EDGES) * rng.choice([-1, 1], N_EDGES)
    names = [f"Variable {k}" for k in range(N_NODES)]
    model = PairwiseMRF.binary(np.zeros(N_NODES), interactions + interactions.T, names=names)
    return describe_network(Network.of(model), groups=None, colors=None, seed=1)


def fetch(engine: str, folder: Path) -> str:
    """Fetch the minified files of an engine from the npm registry."""
    texts = []
    for package, file in PACKAGES[engine].items():
        packed = subprocess.run(["npm", "pack", package], cwd=folder, capture_output=True, text=True, check=True)
        with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
            member = archive.extractfile(file)
            assert member is not None
            texts.append(member.read().decode("utf-8"))
    return "\n".join(texts)


def processor_seconds() -> float:
    """Return the processor time of all that this process started, the browser among it."""
    times, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:  # it ended meanwhile
            continue
        times[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        parents[int(folder.name)] = int(fields[1])
    own: set[int] = set()
    grown = {os.getpid()}
    while grown:
        own |= grown
        grown = {child for child, parent in parents.items() if parent in grown}
    return sum(times[process] for process in own - {os.getpid()} if process in times)


def drag(page: Page, x: float, y: float) -> None:
    """Drag what is at a point along a curve and back."""
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(61):
        page.mouse.move(x + 80 * math.sin(k * math.pi / 15), y + 60 * math.sin(k * math.pi / 20))
    page.mouse.up()


def turn(page: Page) -> None:
    """Turn the wheel both ways over the middle, which was clicked."""
    page.mouse.click(WIDTH / 2, HEIGHT / 2)
    for k in range(40):
        page.mouse.wheel(0, 60 if k % 20 < 10 else -60)
        page.wait_for_timeout(16)


def measure(page: Page) -> dict[str, float]:
    """Return frames a second and processor milliseconds a frame of each gesture: the best of some rounds."""
    gestures: dict[str, Callable[[], None]] = {
        "drag a node": lambda: drag(page, *page.evaluate("where(7)")),
        "drag the plane": lambda: drag(page, 20, 20),
        "zoom": lambda: turn(page),
    }
    row: dict[str, float] = {}
    for name, act in gestures.items():
        rates, costs = [], []
        for _ in range(ROUNDS):
            page.evaluate(COUNT)
            start = processor_seconds()
            act()
            stamps = page.evaluate(STOP)
            costs.append(1000 * (processor_seconds() - start) / len(stamps))
            rates.append(1000 * (len(stamps) - 1) / (stamps[-1] - stamps[0]))
        row[f"{name}, frames a second"] = max(rates)
        row[f"{name}, ms a frame"] = min(costs)
    return row


def main() -> None:
    """Measure the view, and other engines if wanted, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        parser.error("There is no Chromium here: `apt-get install chromium`.")
    console, rows, data = Console(), [], json.dumps(make_network())
    script, style = read_view()
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        engines = {"ours": script} | ({engine: fetch(engine, folder) for engine in PACKAGES} if options.peers else {})
        for engine, text in engines.items():
            file = folder / f"{engine}.html"
            file.write_text(PAGE.format(style=style, engine=text, data=data, script=SCRIPTS[engine]), encoding="utf-8")
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(file.as_uri())
            page.wait_for_selector("body[data-ready=yes]")
            rows.append({"engine": engine, "kB": len(text.encode()) / 1000, **measure(page)})
            console.print(rows[-1])
            page.close()
        browser.close()
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    for row in rows:
        cells = [f"{value:.0f}" if isinstance(value, float) else str(value) for value in row.values()]
        lines.append("| " + " | ".join(cells) + " |")
    text = (
        f"# The network of a page: {N_NODES} nodes, {N_EDGES} edges\n\n"
        f"Made by `make bench-page{' PEERS=1' if options.peers else ''}` on {name_machine()}, in Chromium without a "
        "graphics card; versions and commit are in page.json. Frames a second are the best of "
        f"{ROUNDS} rounds, milliseconds are processor time of the whole browser. kB are those of the engine; ours has "
        "the legend, tooltips and gestures too.\n\n" + "\n".join(lines) + "\n"
    )
    console.print(text)
    store({"rows": rows}, options.output / "page.json")
    (options.output / "page.md").write_text(text)


if __name__ == "__main__":
    main()
