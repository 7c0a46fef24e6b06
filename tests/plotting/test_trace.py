"""The trace of a fit."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sparsefield import Proximal, SparseMRF
from sparsefield.datasets import make_field
from sparsefield.plotting import TraceDisplay


def test_a_trace_has_the_columns_of_the_fit():
    table = make_field(6, seed=1).sample(1000, method="perfect", seed=1)
    options = {"solver": Proximal(max_iter=20), "random_state": 1}
    with pytest.warns(ConvergenceWarning):
        fit = SparseMRF(0.05, **options).fit(table).fit_
    ax = TraceDisplay.from_fit(fit).plot().ax_
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_array_equal(lines["penalised gradient"], fit.trace["step_map_norm"])
    found = lines["certificate: its bias is at most"]
    expected = fit.trace["certificate"].to_numpy()
    np.testing.assert_array_equal(found[expected > 0], expected[expected > 0])
    exact = SparseMRF(0.05, random_state=1).fit(table).fit_
    assert "no bias" in TraceDisplay.from_fit(exact).plot().ax_.get_title()
    with pytest.raises(ValueError, match="no iterations"):
        TraceDisplay.from_fit(replace(exact, steps=()))
