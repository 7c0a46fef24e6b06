"""The interactions as a heatmap."""

import numpy as np

from sparsefield.datasets import make_field
from sparsefield.plotting import HeatmapDisplay


def test_a_heatmap_shows_each_interaction_between_its_names():
    model = make_field(7, seed=2)
    display = HeatmapDisplay.from_fit(model, groups={f"x{k}": str(k % 2) for k in range(7)}).plot()
    (image,) = display.ax_.get_images()
    order = [int(text.get_text()[1:]) for text in display.ax_.get_xticklabels()]
    np.testing.assert_array_equal(image.get_array(), model.interactions[np.ix_(order, order)])
    colors = {text.get_color() for text in display.ax_.get_xticklabels()}
    assert len(colors) == 2
    HeatmapDisplay.from_fit(make_field(2, 0.0, seed=1)).plot()  # nothing to show is no error
