"""Texts can be read in both themes: contrasts, computed as WCAG 2.2 does."""

import re

import pytest

from sparsefield.report._style import theme_variables, write_themes

GROUNDS = ("paper", "raised", "faint", "picked")


def luminance(color):
    """Relative luminance, by its definition in WCAG 2.2."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_black_and_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # a known example


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_have_a_contrast_of_four_and_a_half(theme):
    own = theme_variables(theme)
    for text in ("ink", "soft", "accent"):
        for ground in GROUNDS:
            assert contrast(own[text], own[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_lines_and_marks_have_a_contrast_of_three(theme):
    own = theme_variables(theme)
    for mark in ("positive", "negative", "unsigned", *(f"series-{k}" for k in range(1, 7))):
        assert contrast(own[mark], own["paper"]) >= 3, mark


def test_dark_is_for_screens_whose_system_or_reader_asks_for_it():
    rules = write_themes().splitlines()
    assert [re.match(r"[^{]*(?:\{ :root[^{]*)?", rule)[0].strip() for rule in rules] == [
        ":root",
        '@media screen and (prefers-color-scheme: dark) { :root:not([data-theme="light"])',
        '@media screen { :root[data-theme="dark"]',
    ]
    dark = theme_variables("dark")["paper"]
    assert [f"--paper: {dark}" in rule for rule in rules] == [False, True, True]
