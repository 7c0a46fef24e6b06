"""What all displays have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from pathlib import Path
from typing import Self

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sparsefield._writing import whole_file

_KINDS = ("png", "svg", "pdf")


class Display(ABC):
    """A picture that knows its data: `plot` draws it, on axes of one's own if wanted, and `save` writes it to a file.

    After `plot` there are `ax_` and `figure_`, as in scikit-learn's displays. As there, `from_estimator` draws at once;
    other ways to make a display leave that to `plot`.
    """

    ax_: Axes
    figure_: Figure
    _size = (7.0, 5.0)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture, on new axes of pyplot unless some are given."""
        self.ax_ = plt.subplots(figsize=self._size, layout="constrained")[1] if ax is None else ax
        figure = self.ax_.get_figure(root=True)
        assert figure is not None
        self.figure_ = figure
        self._draw(self.ax_)
        return self

    def save(self, path: str | PathLike[str], *, dpi: float = 150) -> None:
        """Write the picture to a .png, .svg or .pdf file, whole or not at all; it is drawn if it was not."""
        path = Path(path)
        kind = path.suffix.lower().removeprefix(".")
        if kind not in _KINDS:
            raise ValueError(f"{str(path)!r} does not end in .png, .svg or .pdf: choose one of these.")
        if not hasattr(self, "figure_"):
            # A figure of its own, that pyplot need not keep.
            self.plot(Figure(figsize=self._size, layout="constrained").subplots())
        with whole_file(path) as rough:
            self.figure_.savefig(rough, dpi=dpi, format=kind)

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on these axes."""


def check_result(found: object, kind: type, made_by: str) -> None:
    """Refuse what is no result of a kind, such as the estimator that it is made with, and say what makes one."""
    if not isinstance(found, kind):
        raise TypeError(f"This {type(found).__name__} is no {kind.__name__}: give what {made_by} returns.")
