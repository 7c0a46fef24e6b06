"""The colour code of all pictures and of the page: what each colour says, on a light and on a dark background.

The colours were found by a search that asked for two things, and `tests/plotting/test_colors.py` asks for them again.
Any two edge codes, and any two groups, differ by at least 20 in CIEDE2000, to readers with full colour vision and to
those with protanopia, deuteranopia and tritanopia (simulated as in Machado, Oliveira and Fernandes 2009); and each
stands out from its background with a contrast of at least 3:1 (WCAG 2.2, criterion 1.4.11). An edge code and any of the
first three groups differ as much; with the others, lines and dots tell them apart. No seventh group colour was found
for white: after six, groups are told apart by shape as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle, product
from typing import Literal, TypedDict

from matplotlib.colors import is_color_like, to_hex

Shape = Literal["circle", "square", "triangle", "diamond"]


class Theme(TypedDict):
    """The colours on one background: of the page, of edges, and of nodes by group and by strength."""

    background: str
    text: str
    faint: str  # lines to read by
    positive: str
    negative: str
    unsigned: str  # edges of unordered levels, whose weights have no sign
    node: str  # where nodes have no code
    groups: tuple[str, ...]
    sequence: tuple[str, ...]  # the strength of a node, from the least to the largest


class GroupStyle(TypedDict):
    """How the nodes of a group look."""

    light: str
    dark: str
    shape: Shape


SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond")
LIGHT: Theme = {
    "background": "#ffffff",
    "text": "#1a1f26",
    "faint": "#9a9fa6",
    "positive": "#3695bb",
    "negative": "#ec6b02",
    "unsigned": "#6d696c",
    "node": "#252c36",
    "groups": ("#243ae1", "#a82207", "#440253", "#07957c", "#a09501", "#252622"),
    "sequence": ("#c16eb8", "#a2569b", "#853f7e", "#692963", "#4d1249"),
}
DARK: Theme = {
    "background": "#14181f",
    "text": "#e8ebef",
    "faint": "#6b727c",
    "positive": "#68cafe",
    "negative": "#fe9000",
    "unsigned": "#b1a4a4",
    "node": "#fffdfa",
    "groups": ("#6c67ff", "#d20406", "#8c567f", "#78ffdf", "#f1c91a", "#92a87f"),
    "sequence": ("#aa5aa2", "#c17ab8", "#d79acf", "#edbbe6", "#ffdcfe"),
}
PALETTE: dict[str, Theme] = {"light": LIGHT, "dark": DARK}


def style_groups(groups: Iterable[str], colors: Mapping[str, str] | None = None) -> dict[str, GroupStyle]:
    """Return how the nodes of each group look: a colour for either background, and a shape.

    Parameters
    ----------
    groups : iterable of str
        The groups; repeated ones count once.
    colors : mapping of group to colour, optional
        Colours of one's own, in matplotlib's words. They are kept on both backgrounds, unless they are colours of the
        palette, which has one for each. The other groups get colours that are not taken.

    Returns
    -------
    dict
        For each group, in the order of their names: `light` and `dark`, as #rrggbb, and `shape`. The first six groups
        are circles; further ones have the same colours and other shapes, so that 24 can be told apart.

    Examples
    --------
    >>> from sparsefield.plotting import style_groups
    >>> style_groups(["b", "a", "b"], {"b": "teal"})["b"]
    {'light': '#008080', 'dark': '#008080', 'shape': 'circle'}
    """
    names, own = sorted(set(groups)), dict(colors or {})
    for group, color in own.items():
        if not is_color_like(color):
            raise ValueError(f"Group {group!r} has colour {color!r}: use '#rrggbb' or a name such as 'teal'.")
    given = {group: to_hex(color) for group, color in own.items()}
    codes = list(product(SHAPES, zip(LIGHT["groups"], DARK["groups"], strict=True)))
    free = cycle([code for code in codes if code[0] != SHAPES[0] or code[1][0] not in given.values()])
    styles: dict[str, GroupStyle] = {}
    for name in names:
        if name in given:
            pairs = dict(zip(LIGHT["groups"], DARK["groups"], strict=True))
            color = given[name]
            styles[name] = {"light": color, "dark": pairs.get(color, color), "shape": SHAPES[0]}
        else:
            shape, (light, dark) = next(free)
            styles[name] = {"light": light, "dark": dark, "shape": shape}
    return styles


def choose_colors(groups: Iterable[str], colors: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a colour for each group, on a light background: those given as they are, and others for the rest."""
    styles = style_groups(groups, colors)
    return {**{group: style["light"] for group, style in styles.items()}, **(colors or {})}
