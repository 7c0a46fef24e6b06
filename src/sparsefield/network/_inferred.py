"""What an inference says of the pairs of a network, whatever the order of its variables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield.model import has_sign
from sparsefield.pairs import Inference

_COLUMNS = {
    "estimate": "estimate",
    "low": "low",
    "high": "high",
    "p": "p_value",
    "q": "q_value",
    "detectable": "detectable",
}


def check_inference(inference: Inference, names: Sequence[str], is_signed: NDArray[np.bool_]) -> None:
    """Refuse an inference about other variables than a network, or about weights of another kind."""
    others = inference.domain.names
    if odd := sorted(set(names) ^ set(others)):
        where = "it has" if odd[0] in others else "it lacks"
        raise ValueError(
            f"The inference is about other variables than the fit ({where} {odd[0]!r}): give one of the same table."
        )
    at = [others.index(name) for name in names]
    unlike = np.argwhere(np.triu(is_signed != has_sign(inference.domain)[np.ix_(at, at)], 1))
    if len(unlike):
        first, second = (names[k] for k in unlike[0])
        raise ValueError(
            f"The weight of {first!r} and {second!r} has a sign in the fit or in the inference, and none in the other: "
            "give both the same table, with the same columns ordered."
        )


def find_places(inference: Inference, names: Sequence[str]) -> NDArray[np.int64]:
    """Return for each two variables where their pair is among those of an inference; the diagonal does not matter."""
    index = {name: k for k, name in enumerate(names)}
    at = np.array([index[name] for name in inference.domain.names], dtype=np.int64)
    first, second = at[inference.pairs].T
    places = np.zeros((len(names), len(names)), dtype=np.int64)
    places[first, second] = places[second, first] = np.arange(len(inference.pairs))
    return places


def make_columns(inference: Inference, places: NDArray[np.int64]) -> dict[str, pl.Series]:
    """Return what an inference says of some of its pairs; what is not known, or not finite, is null."""
    found = {}
    for name, attribute in _COLUMNS.items():
        values = getattr(inference, attribute)[places]
        found[name] = pl.Series([float(x) if np.isfinite(x) else None for x in values], dtype=pl.Float64)
    return found
