"""The colours of the page in its two themes, as variables of its style sheet: the palette, and greys around it."""

from __future__ import annotations

from typing import Literal

from sparsefield.plotting import PALETTE

Name = Literal["light", "dark"]

# Grounds and texts that are not codes. All texts have a contrast of 4.5:1 on all grounds (WCAG 2.2, criterion 1.4.3),
# which `tests/report/test_style.py` computes.
_GREYS: dict[Name, dict[str, str]] = {
    "light": {
        "raised": "#f6f8fa",
        "soft": "#57606a",
        "line": "#d0d7de",
        "faint": "#eaeef2",
        "accent": "#0a58ca",
        "picked": "#fff3c4",
        "band": "0.16",  # how opaque bands are
    },
    "dark": {
        "raised": "#1c2128",
        "soft": "#a9b2bd",
        "line": "#3b434d",
        "faint": "#2a3038",
        "accent": "#7db4ff",
        "picked": "#4a3f12",
        "band": "0.24",
    },
}
_LINES = (0, 1, 3, 2, 4, 5)  # lines of charts have the colours of groups; the two that differ least are not neighbours


def theme_variables(name: Name) -> dict[str, str]:
    """Return the variables of a theme by their names."""
    own = PALETTE[name]
    return {
        "paper": own["background"],
        "ink": own["text"],
        "positive": own["positive"],
        "negative": own["negative"],
        "unsigned": own["unsigned"],
        **_GREYS[name],
        **{f"series-{k + 1}": own["groups"][group] for k, group in enumerate(_LINES)},
    }


def write_themes() -> str:
    """Return the rules that set the variables: dark where the system is, or where a reader chose it."""
    light, dark = (_write(name) for name in ("light", "dark"))
    return "\n".join(
        [
            f":root {{ {light} }}",
            f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}',
            f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}',
        ]
    )


def _write(name: Name) -> str:
    values = "; ".join(f"--{key}: {value}" for key, value in theme_variables(name).items())
    return f"color-scheme: {name}; {values};"
