"""Options as they are typed, in sentences of the library, which spells them as Python does."""

from __future__ import annotations

import re

# What the program calls otherwise than by its own name with dashes.
_RENAMED = {
    "cv": "folds",
    "n_draws": "draws",
    "n_jobs": "jobs",
    "n_sweeps": "sweeps",
    "n_threads": "threads",
    "missing_markers": "missing_marker",
    "random_state": "seed",
    "rule": "criterion",
    "sample_weight": "weight",
}
_NAMES = (
    *("alpha", "alphas", "certify", "checkpoint", "confidence", "criterion", "device", "fdr", "gamma", "gap"),
    *("max_iter", "max_levels", "max_seconds", "missing", "n_alphas", "objective", "ordinal"),
    *("penalize_main", "penalty", "rate", "seed", "separator", "share", *_RENAMED),
)
_ANY = "|".join(_NAMES)
_UNLIKE_WORDS = "|".join(name for name in _NAMES if "_" in name)  # others are words of sentences too
_RULES = {"EBIC()": "--criterion ebic", "HeldOut()": "--criterion cv", "StARS()": "--criterion stars"}
_PLACES = re.compile(
    rf"\b(?P<assigned>{_ANY})=(?P<value>'[^']*'|[\w.-]*\w)"
    rf"|^(?P<subject>{_ANY})(?= (?:is|are|has|names) )"
    rf"|(?P<quoted>'[^']*'|\"[^\"]*\")"  # names of columns and files
    rf"|\b(?P<name>{_UNLIKE_WORDS})\b"
)


def spell(option: str) -> str:
    """Return an option as it is typed, given its name in Python."""
    return f"--{_RENAMED.get(option, option).replace('_', '-')}"


def spell_given(option: str) -> str:
    """Return an option that is given a value in Python, or asks for one, as it is typed.

    Examples
    --------
    >>> spell_given("header=True"), spell_given("header=False"), spell_given("sheet=")
    ('--header', '--no-header', '--sheet')
    """
    name, _, value = option.partition("=")
    return f"--no-{spell(name)[2:]}" if value == "False" else spell(name)


def respell(sentence: str) -> str:
    """Return a sentence in which options are spelled as they are typed.

    Examples
    --------
    >>> respell("max_seconds is -1: use a number from zero on, or None for no limit.")
    '--max-seconds is -1: use a number from zero on, or leave it out for no limit.'
    >>> respell("Stopped after max_iter = 50 iterations: raise max_iter to go on.")
    'Stopped after --max-iter = 50 iterations: raise --max-iter to go on.'
    """
    for rule, typed in _RULES.items():
        sentence = sentence.replace(rule, typed)
    return _PLACES.sub(_respell_place, sentence).replace("or None ", "or leave it out ")


def _respell_place(place: re.Match[str]) -> str:
    if place["quoted"] is not None:
        return place["quoted"]
    if place["assigned"] is None:
        return spell(place["subject"] or place["name"])
    value = place["value"].strip("'")
    return spell(place["assigned"]) if value == "True" else f"{spell(place['assigned'])} {value}"
