"""The colour code, as people with and without colour vision deficiency see it.

Seen through a simulation of what cones miss (Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB) and
compared by CIEDE2000.
"""

from itertools import combinations, product

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sparsefield.cli.commands._demo import _COLORS
from sparsefield.plotting import PALETTE, choose_colors, style_groups
from sparsefield.plotting._colors import SHAPES

LEAST_DIFFERENCE = 20.0  # in CIEDE2000
LEAST_CONTRAST = 3.0  # of what is not text: WCAG 2.2, criterion 1.4.11
LEAST_CONTRAST_OF_TEXT = 4.5  # criterion 1.4.3
VISIONS = {
    "full": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(  # IEC 61966-2-1, white at D65
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
LOOKS = list(product(PALETTE, VISIONS))
EDGES = ("positive", "negative", "unsigned")
SHARMA = [  # pairs and differences of Sharma, Wu and Dalal 2005, table 1: rows 1, 7, 9, 10, 17, 21, 25 and 34
    ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
    ((50, 0, 0), (50, -1, 2), 2.3669),
    ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792),
    ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
    ((50, 2.5, 0), (73, 25, -18), 27.1492),
    ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]


def linear(color):
    """Return linear RGB of a colour."""
    own = np.array(to_rgb(color))
    return np.where(own <= 0.04045, own / 12.92, ((own + 0.055) / 1.055) ** 2.4)


def lab_of(color, vision):
    """Return CIELAB of a colour as somebody sees it."""
    xyz = TO_XYZ @ np.clip(VISIONS[vision] @ linear(color), 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


def difference(first, second):
    """Return CIEDE2000 between two colours in CIELAB, step by step as Sharma, Wu and Dalal (2005) write it."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    a1, a2 = stretch * a1, stretch * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn, total = h2 - h1, h1 + h2
    if c1 * c2 == 0:
        turn, hue = 0.0, total
    elif abs(turn) <= 180:
        hue = total / 2
    else:
        turn, hue = turn - 360 * np.sign(turn), (total + (360 if total < 360 else -360)) / 2
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    tint = 1 + sum(
        size * np.cos(np.radians(times * hue + shift))
        for size, times, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    )
    dl = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * tint)
    turned = -np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2)))) * 2
    turned *= np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    return np.sqrt(dl**2 + dc**2 + dh**2 + turned * dc * dh)


def seen_difference(first, second, vision):
    return difference(lab_of(first, vision), lab_of(second, vision))


def contrast(color, background):
    high, low = sorted((TO_XYZ[1] @ linear(own) for own in (color, background)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("first", "second", "expected"), SHARMA)
def test_differences_are_those_that_were_published(first, second, expected):
    assert difference(first, second) == pytest.approx(expected, abs=5e-5)  # which has four digits
    assert difference(second, first) == pytest.approx(expected, abs=5e-5)


def test_full_vision_tells_red_from_green_and_protanopia_does_not():
    red, green = "#c04000", "#608000"
    assert seen_difference(red, green, "full") > LEAST_DIFFERENCE > seen_difference(red, green, "protanopia")


@pytest.mark.parametrize(("theme", "vision"), LOOKS)
def test_codes_of_one_picture_can_be_told_apart(theme, vision):
    own = PALETTE[theme]
    edges = [own[name] for name in EDGES]
    pairs = [*combinations(edges, 2), *combinations(own["groups"], 2)]
    pairs += product(edges, [own["node"], *own["groups"][:3]])
    found = {pair: seen_difference(*pair, vision) for pair in pairs}
    assert {pair: size for pair, size in found.items() if size < LEAST_DIFFERENCE} == {}


@pytest.mark.parametrize(("theme", "vision"), LOOKS)
def test_the_sequence_goes_one_way(theme, vision):
    lightness = [lab_of(color, vision)[0] for color in PALETTE[theme]["sequence"]]
    steps = np.diff(lightness) * (1 if theme == "dark" else -1)  # the strongest is furthest from the background
    assert (steps > 0).all()
    ends = PALETTE[theme]["sequence"][:: len(lightness) - 1]
    assert seen_difference(*ends, vision) > LEAST_DIFFERENCE


@pytest.mark.parametrize("theme", PALETTE)
def test_codes_stand_out_from_the_background(theme):
    own = PALETTE[theme]
    codes = [own["node"], *(own[name] for name in EDGES), *own["groups"], *own["sequence"]]
    found = {color: contrast(color, own["background"]) for color in codes}
    assert {color: size for color, size in found.items() if size < LEAST_CONTRAST} == {}
    assert contrast(own["text"], own["background"]) >= LEAST_CONTRAST_OF_TEXT


def test_parties_have_colours_of_the_palette_that_differ_from_edges():
    assert set(_COLORS.values()) == set(PALETTE["light"]["groups"][:3])
    blue, red = (np.array(to_rgb(_COLORS[party])) for party in ("Democrat", "Republican"))
    assert blue.argmax() == 2
    assert red.argmax() == 0


def test_groups_have_colours_and_then_shapes():
    styles = style_groups([f"{k:02}" for k in range(24)])
    assert len({(style["light"], style["shape"]) for style in styles.values()}) == 24
    assert len({(style["dark"], style["shape"]) for style in styles.values()}) == 24
    assert [style["shape"] for style in styles.values()] == [shape for shape in SHAPES for _ in range(6)]
    assert set(style_groups(f"{k:02}" for k in range(30))) == {f"{k:02}" for k in range(30)}


def test_own_colours_are_kept_and_not_given_to_others():
    blue = PALETTE["light"]["groups"][0]
    assert choose_colors(["a", "b", "c"], {"b": "tab:green"})["b"] == "tab:green"
    styles = style_groups(["a", "b", "c"], {"b": blue, "c": "tab:green"})
    assert styles["b"] == {"light": blue, "dark": PALETTE["dark"]["groups"][0], "shape": "circle"}
    assert styles["c"] == {"light": "#2ca02c", "dark": "#2ca02c", "shape": "circle"}
    assert styles["a"]["light"] == PALETTE["light"]["groups"][1]
    with pytest.raises(ValueError, match="Group 'b' has colour 'bleu'"):
        style_groups(["a", "b"], {"b": "bleu"})
