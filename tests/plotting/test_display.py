"""What all displays do: draw on axes of one's own, and save."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from sparsefield.datasets import make_field
from sparsefield.plotting import (
    ChoiceDisplay,
    DifferencesDisplay,
    HeatmapDisplay,
    NetworkDisplay,
    PathDisplay,
    SharesDisplay,
    StabilityDisplay,
)
from sparsefield.resampling import Stability
from support.many_fits import ENDS, make_bootstrap, make_choice, make_fit, make_path


def test_pictures_are_drawn_on_axes_of_ones_own_and_saved(tmp_path):
    choice = make_choice({"ebic": [3.0, 1.0, 2.0], "standard_error": [0.5, 0.25, 1.0]})
    values = np.full((2, 3), 0.9)
    found = Stability(make_fit({}), (0.75, 0.5), values, values, ENDS)
    displays = [
        PathDisplay.from_path(make_path()),
        ChoiceDisplay.from_choice(choice),
        SharesDisplay.from_bootstrap(make_bootstrap()),
        DifferencesDisplay.from_bootstrap(make_bootstrap()),
        StabilityDisplay.from_stability(found),
    ]
    axes = Figure(figsize=(30, 8)).subplots(1, 5)
    for k, (display, ax) in enumerate(zip(displays, axes, strict=True)):
        assert display.plot(ax).ax_ is ax
        display.save(tmp_path / f"{k}.png", dpi=20)
        assert (tmp_path / f"{k}.png").read_bytes().startswith(b"\x89PNG")


def test_displays_draw_on_axes_of_ones_own():
    ax = Figure().subplots()
    display = NetworkDisplay.from_fit(make_field(8, seed=1)).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_displays_are_saved(tmp_path, ending):
    path = tmp_path / f"map.{ending}"
    HeatmapDisplay.from_fit(make_field(8, seed=1)).save(path)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert path.read_bytes().startswith(starts[ending])
    assert [own.name for own in tmp_path.iterdir()] == [path.name]


def test_pictures_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"does not end in \.png"):
        HeatmapDisplay.from_fit(make_field(8, seed=1)).save(tmp_path / "map.bmp")
