"""The curve of edges found against edges that are true."""

import numpy as np
import pytest

from sparsefield.datasets import make_field
from sparsefield.plotting import RocDisplay


def test_a_roc_curve_has_its_area():
    truth = make_field(10, seed=3)
    guess = make_field(10, seed=4)
    display = RocDisplay.from_fit(guess, truth).plot()
    area = np.trapezoid(display.true_positives, display.false_positives)
    assert display.auc == pytest.approx(area, abs=1e-12)
    assert f"AUC {area:.3f}" in display.ax_.get_legend().get_texts()[0].get_text()
    with pytest.raises(ValueError, match="different variables"):
        RocDisplay.from_fit(make_field(9, seed=1), truth)
