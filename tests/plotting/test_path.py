"""Pictures of paths, read back from their axes."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from sparsefield import Fit, PairwiseMRF
from sparsefield.data import Domain
from sparsefield.fits import Status
from sparsefield.plotting import PathDisplay
from sparsefield.selection import Path
from support.many_fits import make_fit, make_path


def test_a_path_shows_each_weight_at_its_alpha():
    ax = PathDisplay.from_path(make_path(), chosen=0.2).plot().ax_
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    shown = sorted(tuple(map(tuple, line)) for line in lines.get_segments())
    assert shown == sorted(
        tuple(zip((0.4, 0.2, 0.1), weights, strict=True)) for weights in [(0, 1, 2), (0, 0, -0.5), (0, 0, 0.1)]
    )
    assert ax.get_xscale() == "log"
    left, right = ax.get_xlim()
    assert left > right
    assert any(list(line.get_xdata()) == [0.2, 0.2] for line in ax.lines)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["chosen: 0.2"]


def test_the_strongest_edges_of_a_path_have_names_in_their_colour():
    ax = PathDisplay.from_path(make_path(), labels=2).plot().ax_
    assert [text.get_text() for text in ax.texts] == ["a - b", "b - c"]
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    colors = {line[-1, 1]: to_hex(color) for line, color in zip(lines.get_segments(), lines.get_colors(), strict=True)}
    assert [text.get_color() for text in ax.texts] == [colors[2.0], colors[-0.5]]
    assert len(set(colors.values())) == 3


def test_names_of_a_path_do_not_cover_each_other():
    many = {(i, j): 1 + 0.001 * (i + 26 * j) for i in range(15) for j in range(i)}
    fits = tuple(make_fit({pair: own * k for pair, own in many.items()}, 15, 0.4 / (1 + k)) for k in range(2))
    display = PathDisplay.from_path(Path(fits, (None,) * 2, (0.0,) * 2, 100.0), labels=105).plot()
    display.figure_.draw_without_rendering()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert 25 < len(boxes) < 105
    assert not any(box.overlaps(other) for k, box in enumerate(boxes) for other in boxes[:k])
    whole = display.figure_.bbox
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)


def test_weights_without_a_sign_are_dashed():
    domain = Domain(("a", "b", "c"), ((0, 1, 2), (0, 1), (0, 1)), (0, 0, 0))
    interactions = np.zeros((4, 4))
    interactions[0, 2] = interactions[2, 0] = -1.0
    interactions[2, 3] = interactions[3, 2] = -2.0
    fits = [
        Fit(
            PairwiseMRF(domain, np.zeros(4), k * interactions),
            Status("converged", ""),
            (),
            settings={"alpha": 1 / (1 + k)},
        )
        for k in range(2)
    ]
    ax = PathDisplay.from_path(Path(tuple(fits), (None,) * 2, (0.0,) * 2, 9.0)).plot().ax_
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    dashes = {line[-1, 1]: style[1] for line, style in zip(lines.get_segments(), lines.get_linestyles(), strict=True)}
    (unsigned,) = (end for end in dashes if end > 0)
    assert dashes[-2.0] is None
    assert dashes[unsigned] is not None
    assert "no sign" in ax.get_legend().get_texts()[0].get_text()


def test_an_alpha_of_zero_is_left_out_and_said():
    ax = PathDisplay.from_path(make_path((0.4, 0.2, 0.0)), chosen=0.0).plot().ax_
    (lines,) = (own for own in ax.collections if isinstance(own, LineCollection))
    assert all(len(line) == 2 for line in lines.get_segments())
    assert "zero is not shown" in ax.get_xlabel()


def test_a_path_without_edges_says_so():
    fits = (make_fit({}, alpha=0.1), make_fit({}, alpha=0.05))
    ax = PathDisplay.from_path(Path(fits, (None,) * 2, (0.0,) * 2, 9.0)).plot().ax_
    assert ax.get_title() == "no edge at any alpha"
    assert ax.get_ylim() == (-1, 1)


def test_paths_without_fits_and_other_alphas_are_refused():
    with pytest.raises(ValueError, match="no fits"):
        PathDisplay.from_path(Path((), (), (), 10.0))
    with pytest.raises(ValueError, match=r"from 0\.1 to 0\.4"):
        PathDisplay.from_path(make_path(), chosen=0.5)
    only = Path((make_fit({(0, 1): 1.0}, alpha=0.0),), (None,), (0.0,), 10.0)
    with pytest.raises(ValueError, match="only alpha is zero"):
        PathDisplay.from_path(only).plot()
