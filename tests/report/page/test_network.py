"""The interactive network in a real browser: dragged, zoomed, filtered, laid out again, and on a phone."""

import json
import re
from importlib.resources import files

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_field
from sparsefield.plotting import PALETTE
from sparsefield.report._view import read_view
from support.pages import ARTEFACTS, HOSTILE
from support.views import (
    NEAR,
    along,
    as_rgb,
    describe,
    drag_by,
    entries,
    join,
    locate,
    make_few,
    make_parts,
    overlaps,
    pixels,
    rest,
    until,
    write_view,
)

# --- Moving it ---


def test_a_dragged_node_takes_its_edges_along(few, visit):
    page = visit(few)
    before = rest(page)
    background = as_rgb(PALETTE["light"]["background"])
    middles = along(before, 0, 1, [0.4, 0.6])
    assert not np.any(np.all(pixels(page, middles) == background, axis=1))
    drag_by(page, before["positions"][1], (-90, 120))
    after = rest(page)
    np.testing.assert_allclose(np.subtract(after["positions"][1], before["positions"][1]), (-90, 120), atol=NEAR)
    others = [0, 2, 3]
    np.testing.assert_allclose(np.array(after["positions"])[others], np.array(before["positions"])[others], atol=NEAR)
    assert np.all(pixels(page, middles) == background)
    assert not np.any(np.all(pixels(page, along(after, 0, 1, [0.3, 0.5])) == background, axis=1))
    assert page.evaluate("told") == []  # a drag is no click


def test_other_buttons_move_and_select_nothing(few, visit):
    page = visit(few)
    before = rest(page)
    x, y = locate(page, before["positions"][0])
    page.mouse.move(x, y)
    page.mouse.down(button="right")
    page.mouse.move(x + 80, y + 40)
    page.mouse.up(button="right")
    page.mouse.click(x, y, button="middle")
    after = rest(page)
    assert after["positions"] == before["positions"]
    assert after["selection"] is None


def test_a_node_that_is_dragged_out_of_the_window_comes_back(few, visit):
    page = visit(few)
    box = page.locator("#network > canvas").bounding_box()
    x, y = locate(page, rest(page)["positions"][0])
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 300, box["y"] - 200)  # over what is around it
    outside = rest(page)["positions"][0]
    assert outside == pytest.approx([box["width"] + 300, -200], abs=NEAR)
    page.mouse.move(x, y)
    page.mouse.up()
    page.mouse.move(x + 50, y + 50)
    state = rest(page)
    assert np.add([box["x"], box["y"]], state["positions"][0]) == pytest.approx([x, y], abs=NEAR)
    assert state["selection"] is None


def test_the_plane_is_dragged(many, visit):
    page = visit(many)
    before = rest(page)
    drag_by(page, np.array([6.0, 6.0]), (150, 40))
    after = rest(page)
    np.testing.assert_allclose(np.subtract(after["positions"], before["positions"]), [[150, 40]] * 90, atol=NEAR)
    assert after["zoom"] == before["zoom"]


def test_lines_are_the_same_in_the_middle_of_a_drag_as_after_it(many, visit):
    page = visit(many)
    start = np.array(rest(page)["positions"][5])
    x, y = locate(page, start)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20)
    page.mouse.move(x + 60, y + 40)
    rest(page)
    grid = [(20 + 31 * k, 20 + 23 * j) for k in range(39) for j in range(23)]
    during = pixels(page, grid)
    page.mouse.up()
    page.mouse.move(*locate(page, (1, 1)))
    rest(page)
    # Colours of the layer are rounded, and where lines cross, those of the node that is held are above.
    differs = np.abs(during - pixels(page, grid)).max(axis=1) > 2
    assert differs.mean() < 0.01


def test_a_stretched_picture_stands_in_for_many_lines_while_one_zooms(folder, visit):
    path = write_view(folder / "dense.html", describe(make_field(60, edge_probability=0.7, seed=1)))

    def zoomed(timers):
        """Return the ink of the network after some zooming, in blocks of 4 by 4 pixels: stretching blurs."""
        page = visit(path)
        assert len(rest(page)["shown"]) > 1000
        page.evaluate("view.showNames(false)")
        page.evaluate(f"() => {{ {timers} }}")
        page.locator("#network").focus()
        for _ in range(2):  # the first makes a layer, the second stretches it
            before = page.evaluate("view.state().frames")
            page.keyboard.press("+")
            until(page, f"view.state().frames > {before}" if timers else "view.state().isResting")
        grid = [(x, y) for y in range(100, 500) for x in range(300, 900)]
        return 255 - pixels(page, grid).mean(axis=1).reshape(100, 4, 150, 4).mean(axis=(1, 3))

    sharp, stretched = zoomed(""), zoomed("window.setTimeout = () => 1;")  # a sharp one never comes
    assert not np.array_equal(sharp, stretched)
    # 0.994 here, and 0.58 where the layer is not stretched.
    assert np.corrcoef(sharp.ravel(), stretched.ravel())[0, 1] > 0.95


def test_zooming_in_shows_more_names_and_none_overlap(many, visit):
    page = visit(many)
    named, boxes = [], []
    page.locator("#network").focus()
    for _ in range(5):
        state = rest(page)
        boxes.append(state["boxes"])
        inside = [k for k, (x, y) in enumerate(state["positions"]) if 0 <= x <= 1260 and 0 <= y <= 560]
        named.append(len(set(state["names"]) & set(inside)) / len(inside))
        page.keyboard.press("+")
        page.keyboard.press("+")
    assert [overlaps(own) for own in boxes] == [[]] * 5
    assert 0.1 < named[0] < named[-1]
    nodes = json.loads(page.inner_text("#data"))["nodes"]
    sizes = [(node["degree"], node["strength"]) for node in nodes]
    # As in pictures, the node with most edges comes first, and here it is not the strongest one.
    assert boxes[0][0]["node"] == sizes.index(max(sizes)) != int(np.argmax([strength for _, strength in sizes]))


def test_the_wheel_zooms_around_the_pointer_once_the_network_was_clicked(few, visit):
    page = visit(few)
    before = rest(page)
    x, y = np.floor(locate(page, (300, 200)))  # whole numbers, as events of wheels have them
    pointer = (x, y) - locate(page, (0, 0))
    page.mouse.move(x, y)
    page.mouse.wheel(0, 120)
    page.wait_for_selector(".network-hint:visible")
    assert "Ctrl" in page.inner_text(".network-hint")
    until(page, "scrollY > 0")
    assert rest(page)["zoom"] == before["zoom"]
    until(page, "(scrollTo({ top: 0, behavior: 'instant' }), scrollY === 0)")
    page.mouse.click(x, y)
    page.mouse.wheel(0, -120)
    page.mouse.wheel(0, -120)
    after = rest(page)
    assert after["zoom"] > 1.2 * before["zoom"]
    factor = after["zoom"] / before["zoom"]
    expected = pointer + factor * (np.array(before["positions"]) - pointer)
    np.testing.assert_allclose(after["positions"], expected, atol=NEAR)
    assert page.evaluate("scrollY") == 0


def test_keys_move_zoom_and_deselect(few, visit):
    page = visit(few)
    before = rest(page)
    network = page.locator("#network")
    assert "4 variables and 2 edges" in network.get_attribute("aria-label")
    network.focus()
    page.keyboard.press("ArrowLeft")
    moved = np.subtract(rest(page)["positions"], before["positions"])
    assert np.all(moved[:, 0] > 0)
    assert np.all(moved[:, 1] == 0)
    page.keyboard.press("+")
    assert rest(page)["zoom"] > before["zoom"]
    page.keyboard.press("0")
    np.testing.assert_allclose(rest(page)["positions"], before["positions"], atol=NEAR)
    page.evaluate("view.select({ node: 1 })")
    assert page.inner_text(".network-spoken").startswith("bob")
    page.keyboard.press("Escape")
    assert rest(page)["selection"] is None
    assert page.evaluate("told") == [None]


# --- What is shown ---


def test_nodes_that_lose_all_edges_can_be_hidden(few, visit):
    page = visit(few)
    before = rest(page)
    assert before["visible"] == [0, 1, 2, 3]
    assert page.evaluate("view.showEdges((edge) => edge.weight > 0)") == 1
    page.evaluate("view.hideIsolated(true)")
    state = rest(page)
    assert state["visible"] == [0, 1]
    assert len(state["shown"]) == 1
    assert np.all(pixels(page, [before["positions"][2], before["positions"][3]]) == 255)
    page.evaluate("view.hideIsolated(false)")
    assert rest(page)["visible"] == [0, 1, 2, 3]
    assert page.evaluate("view.showEdges(() => false)") == 0
    assert page.inner_text(".network-empty") == "No edge is that strong: none is shown."


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_components_are_laid_out_side_by_side_and_the_rest_in_a_row(folder, visit, motion):
    data, parts = make_parts()
    for node in data["nodes"]:
        node.update(x=0.01 * int(node["name"][1:]), y=0.0)  # all on one line
    page = visit(write_view(folder / f"parts-{motion}.html", data))
    page.emulate_media(reduced_motion=motion)
    frames = rest(page)["frames"]
    page.evaluate("view.layOut()")
    state = rest(page)
    assert state["frames"] > frames + (3 if motion == "no-preference" else 0)
    places = np.array(state["positions"])
    boxes = [(places[own].min(axis=0), places[own].max(axis=0)) for own in map(list, parts)]
    for k, (low, high) in enumerate(boxes):
        assert np.all(high - low > 20)  # no component is a dot
        assert all(np.any(low > end) or np.any(high < start) for start, end in boxes[:k])
    alone = places[25:]
    np.testing.assert_allclose(alone[:, 1], alone[0, 1], atol=0.5)
    np.testing.assert_allclose(np.diff(alone[:, 0]), np.diff(alone[:, 0])[0], atol=0.5)
    assert alone[0, 1] > max(high[1] for _, high in boxes)
    assert np.all((places > 0) & (places < (1260, 560)))


def test_whoever_grabs_a_node_stops_the_layout(many, visit):
    page = visit(many)
    start = rest(page)["positions"][3]
    x, y = locate(page, start)
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate("() => { view.layOut(); }")
    page.mouse.move(x + 20, y)
    page.mouse.move(x + 40, y)
    page.mouse.up()
    places = rest(page)["positions"]
    np.testing.assert_allclose(places[3], np.add(start, (40, 0)), atol=NEAR)


def test_a_network_without_edges_says_so_and_has_tidy_rows(folder, visit):
    page = visit(write_view(folder / "empty.html", join([f"variable {k}" for k in range(30)], {})))
    state = rest(page)
    assert page.inner_text(".network-empty") == "Nothing is joined: try a smaller penalty."
    places = np.array(state["positions"]).round(3)
    rows = sorted(set(places[:, 1]))
    assert 2 <= len(rows) <= 10
    np.testing.assert_allclose(np.diff(rows), np.diff(rows)[0], atol=0.01)
    assert len(state["names"]) == 30
    assert overlaps(state["boxes"]) == []
    assert page.inner_text("#legend") == ""
    said = page.locator(".network-empty").bounding_box()
    assert locate(page, (0, rows[0]))[1] > said["y"] + said["height"]


def test_long_names_are_cut_and_whole_in_the_tooltip(folder, visit):
    long = "How often did you feel that nothing could cheer you up during the last thirty days?"
    page = visit(write_view(folder / "long.html", join([long, "b"], {(0, 1): 1.0})))
    (box,) = (own for own in rest(page)["boxes"] if own["node"] == 0)
    assert box["right"] - box["left"] < 200
    page.mouse.move(*locate(page, rest(page)["positions"][0]))
    page.wait_for_selector(".network-tooltip:visible")
    assert page.inner_text(".network-tooltip").split("\n") == [long, "1 edge, strength 1"]


def test_names_stay_off_the_lines_of_a_node_with_few(few, visit):
    state = rest(visit(few))
    boxes = {box["node"]: box for box in state["boxes"]}
    for a, b in ((0, 1), (0, 2)):
        for x, y in along(state, a, b, np.linspace(0, 1, 200)):
            inside = [k for k in (a, b) if boxes[k]["left"] < x < boxes[k]["right"]]
            assert not any(boxes[k]["top"] < y < boxes[k]["bottom"] for k in inside)


def test_a_picture_is_turned_where_the_window_is_high(few, visit):
    page = visit(few)
    wide = np.array(rest(page)["positions"])
    page.set_viewport_size({"width": 300, "height": 900})
    until(page, "document.getElementById('network').clientWidth < 300")
    high = np.array(rest(page)["positions"])
    page.set_viewport_size({"width": 1280, "height": 1000})
    until(page, "document.getElementById('network').clientWidth > 1000")
    again = np.array(rest(page)["positions"])
    assert np.ptp(wide[:, 0]) > np.ptp(wide[:, 1])
    assert np.ptp(high[:, 0]) < np.ptp(high[:, 1])
    np.testing.assert_allclose(again, wide, atol=NEAR)


def test_a_view_that_nobody_moved_stays_fitted_and_another_keeps_its_middle(many, visit):
    page = visit(many)

    def resize(width):
        page.set_viewport_size({"width": width, "height": 1000})
        until(page, f"view.state().isResting && document.querySelector('#network > canvas').width === {width - 20}")
        return rest(page), np.array([width - 20, 560]) / 2

    state, middle = resize(700)
    assert np.all(np.array(state["positions"]) > 0)
    assert np.all(np.array(state["positions"]) < 2 * middle)
    assert state["zoom"] == 1
    page.focus("#network")
    for _ in range(4):
        page.keyboard.press("+")
    before = np.array(rest(page)["positions"]) - middle
    state, middle = resize(900)
    assert state["zoom"] > 2
    assert np.array(state["positions"]) - middle == pytest.approx(before, abs=NEAR)


def test_few_nodes_are_not_blown_up(few, visit):
    places = np.array(rest(visit(few))["positions"])
    assert 100 < np.linalg.norm(places[0] - places[1]) < 300  # the window is 1260 wide


def test_the_tooltip_of_an_edge_tells_its_weight(few, visit):
    page = visit(few)
    page.mouse.move(*locate(page, along(rest(page), 0, 2, [0.45])[0]))
    page.wait_for_selector(".network-tooltip:visible")
    first, weight, odds, undecided = page.inner_text(".network-tooltip").split("\n")
    assert (first, weight) == ("ann \u2013 cat", "negative, \u22121.00")
    assert odds == f"odds ratio {np.exp(-1):.3g}, all other variables fixed"
    assert "simulation error" in undecided


def test_weights_that_depend_on_the_seed_have_fewer_decimals(visit, folder):
    data = {**join(["ann", "bob"], {(0, 1): 0.3456}), "decimals": 1}
    page = visit(write_view(folder / "decimals.html", data))
    page.mouse.move(*locate(page, along(rest(page), 0, 1, [0.45])[0]))
    page.wait_for_selector(".network-tooltip:visible")
    _, weight, odds = page.inner_text(".network-tooltip").split("\n")
    assert (weight, odds) == ("positive, +0.3", "odds ratio 1.4, all other variables fixed")


# --- People and pages ---


def test_clicks_are_told(few, visit):
    page = visit(few)
    state = rest(page)
    page.mouse.click(*locate(page, state["positions"][2]))
    page.mouse.click(*locate(page, along(state, 0, 1, [0.4])[0]))
    page.mouse.click(*locate(page, (5, 5)))
    node, edge, nothing = page.evaluate("told")
    assert node == {"node": 2}
    assert page.evaluate("(k) => view.edges[k].weight", edge["edge"]) > 0
    assert nothing is None


def test_hostile_names_are_harmless(folder, visit):
    interactions = np.ones((len(HOSTILE),) * 2) - np.eye(len(HOSTILE))
    model = sf.PairwiseMRF.binary(np.zeros(len(HOSTILE)), interactions, names=HOSTILE)
    groups = {name: f"<i onclick='window.hit = 1'>{k % 2}</i>" for k, name in enumerate(HOSTILE)}
    page = visit(write_view(folder / "hostile.html", describe(model, groups=groups)))
    state = rest(page)
    tips = set()
    for place in state["positions"]:
        page.mouse.move(*locate(page, place))
        page.wait_for_selector(".network-tooltip:visible")
        tips.add(page.text_content(".network-tooltip strong"))
        page.mouse.move(*locate(page, (2, 2)))
        page.wait_for_selector(".network-tooltip", state="hidden")
    assert {name for name in HOSTILE if name.isprintable()} <= tips
    assert len(tips) == len(HOSTILE)
    assert not any(re.search("[\n\u2028\u202e]", tip) for tip in tips)
    assert page.evaluate("window.hit") is None
    assert page.eval_on_selector_all("#network :is(b, i, a, img, script), #legend i", "found => found.length") == 0
    assert entries(page)[0] == "<i onclick='window.hit = 1'>0</i>"


def test_another_view_is_followed(few, visit):
    page = visit(few)
    page.evaluate(
        """() => {
          const other = document.createElement("div");
          other.style.height = "560px";
          document.body.prepend(other);
          const data = JSON.parse(document.getElementById("data").textContent);
          data.edges.pop();
          data.nodes.reverse();
          data.edges = data.edges.map(([a, b, ...more]) => [3 - a, 3 - b, ...more]);
          window.second = NetworkView.make(other, data);
          second.follow(view);
        }"""
    )
    # The second one is measured in the first frame, is painted in the next, and tells the first one then.
    page.evaluate("async () => { for (let k = 0; k < 4; k++) await new Promise(requestAnimationFrame); }")
    first = rest(page)
    drag_by(page, first["positions"][1], (30, 50))
    drag_by(page, np.array([5.0, 5.0]), (40, 10))
    state = rest(page)
    own = page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(second.state()))))"
    )
    np.testing.assert_allclose(own["positions"][::-1], state["positions"], atol=NEAR)
    np.testing.assert_allclose(np.subtract(state["positions"][1], first["positions"][1]), (70, 60), atol=NEAR)


def test_a_snapshot_is_a_png_with_its_legend(few, visit):
    page = visit(few)
    state = rest(page)
    width, height, shades = page.evaluate("""view.snapshot().then((blob) => createImageBitmap(blob)).then((image) => {
      const paper = new OffscreenCanvas(image.width, image.height).getContext("2d");
      paper.drawImage(image, 0, 0);
      const { data } = paper.getImageData(0, 2 * 560, image.width, image.height - 2 * 560), shades = new Set();
      for (let k = 0; k < data.length; k += 4) {
        shades.add("#" + [data[k], data[k + 1], data[k + 2]].map((own) => own.toString(16).padStart(2, "0")).join(""));
      }
      return [image.width, image.height, [...shades]];
    })""")
    assert width == 2 * 1260
    assert height == 2 * (560 + 24)  # all entries fit in one row
    assert {state["colors"][code] for code in ("background", "text", "positive", "negative")} <= set(shades)


def touch(session, kind, points):
    session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})


def test_a_phone_shows_it_and_fingers_move_it(many, browser):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, device_scale_factor=2)
    page = context.new_page()
    page.goto(many.as_uri())
    session = context.new_cdp_session(page)
    before = rest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(box["left"] >= 0 and box["right"] <= 370 for box in before["boxes"])
    assert overlaps(before["boxes"]) == []
    x, y = locate(page, (30, 300))

    def stroke(*paths):
        touch(session, "touchStart", [path[0] for path in paths])
        for k in range(1, 9):
            touch(session, "touchMove", [np.add(a, np.subtract(b, a) * k / 8).tolist() for a, b in paths])
        touch(session, "touchEnd", [])
        return rest(page)

    # One finger scrolls the page, as long as the network was not tapped.
    scrolled = stroke(((x, y), (x, y - 200)))
    page.wait_for_selector(".network-hint:visible")
    until(page, "scrollY > 50")
    assert scrolled["positions"] == before["positions"]
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    # Two fingers zoom.
    pinched = stroke(((x + 130, y), (x + 60, y)), ((x + 170, y), (x + 240, y)))
    assert pinched["zoom"] > 2 * before["zoom"]
    page.evaluate("view.fit()")
    fitted = rest(page)
    # A tap picks what is near, and one finger moves the network then.
    page.touchscreen.tap(*locate(page, np.add(fitted["positions"][7], 4)))
    assert rest(page)["selection"] is not None
    scrolled = page.evaluate("scrollY")
    moved = stroke(((locate(page, (5, 0))[0], y), (locate(page, (65, 0))[0], y)))
    np.testing.assert_allclose(np.subtract(moved["positions"], fitted["positions"])[:, 1], 0, atol=NEAR)
    assert np.ptp(np.subtract(moved["positions"], fitted["positions"])[:, 0]) < NEAR
    assert moved["positions"][0][0] > fitted["positions"][0][0] + 30
    assert page.evaluate("scrollY") == scrolled
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_screenshots_are_kept(many, browser, theme, width):
    context = browser.new_context(viewport={"width": width, "height": 700}, color_scheme=theme, device_scale_factor=2)
    page = context.new_page()
    page.goto(many.as_uri())
    page.evaluate("view.layOut()")
    rest(page)
    page.evaluate("view.select({ node: view.state().names[0] })")
    rest(page)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"network-{theme}-{width}.png")
    context.close()


def test_wide_networks_grow_in_height_by_a_third_at_most(folder, visit):
    data = make_few()
    for node, (x, y) in zip(data["nodes"], [(-2, 0.5), (2, 0.5), (-1, -0.5), (1, -0.5)], strict=True):
        node.update(x=x, y=y)  # four times as wide as high
    page = visit(write_view(folder / "wide.html", data))
    shapes = []
    for width in (1280, 390, 1280):  # a phone turns it
        page.set_viewport_size({"width": width, "height": 1000})
        until(page, f"document.querySelector('#network canvas').width === {width - 20} && view.state().isResting")
        wide, high = np.ptp(rest(page)["positions"], axis=0)
        shapes.append(wide / high)
    np.testing.assert_allclose(shapes, [3, 1 / 3, 3], rtol=1e-6)


def test_dark_networks_are_printed_on_white(few, visit):
    page = visit(few)
    page.emulate_media(color_scheme="dark")
    page.evaluate("""() => {
      window.corner = () => {
        const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        copy.drawImage(document.querySelector("#network canvas"), -3, -3);
        return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      window.printed = [];
      addEventListener("beforeprint", () => printed.push(corner()));
    }""")
    dark, light = (as_rgb(PALETTE[name]["background"]).tolist() for name in ("dark", "light"))
    until(page, f"corner().join() === '{','.join(map(str, dark))}'")
    page.pdf()
    assert page.evaluate("printed") == [light]
    until(page, f"corner().join() === '{','.join(map(str, dark))}'")


# --- Without a browser ---


def test_scripts_are_all_there_and_evaluate_nothing():
    folder = files("sparsefield.report") / "page"
    own = sorted(file.name for file in folder.iterdir() if re.fullmatch(r"network.*\.js", file.name))
    script, style = read_view()
    for name in own:
        text = folder.joinpath(name).read_text(encoding="utf-8")
        assert text.splitlines()[-2].strip() in script
    assert not re.findall(r"\beval\b|\bFunction\(|innerHTML|importScripts|new Worker|https?://", script + style)
    assert (
        folder.joinpath("vendor", "LICENSE").read_text(encoding="utf-8").startswith("Copyright 2010-2026 Mike Bostock")
    )


def test_a_network_is_described_as_it_is():
    data = make_few()
    assert [node["name"] for node in data["nodes"]] == ["ann", "bob", "cat", "dan"]
    assert [(node["degree"], node["strength"]) for node in data["nodes"]] == [(2, 2.0), (1, 1.0), (1, 1.0), (0, 0.0)]
    assert sorted(data["edges"]) == [[0, 1, 1.0, False, True, None], [0, 2, -1.0, True, True, None]]
    assert data["groups"] == {}
    sizes = [abs(edge[2]) for edge in describe(make_field(30, degree=4, seed=2))["edges"]]
    assert sizes == sorted(sizes, reverse=True)
    some = describe(make_field(30, degree=4, seed=2), only=["x3", "x4", "x5"])
    assert [node["name"] for node in some["nodes"]] == ["x3", "x4", "x5"]
    assert all(max(edge[:2]) < 3 for edge in some["edges"])
