"""How often two variables agree."""

import numpy as np
import pytest

from sparsefield.datasets import load_senate
from sparsefield.plotting._agreement import agreement


def test_agreement_counts_rows_where_both_were_observed():
    votes = load_senate().votes
    share = agreement(votes)
    for i, j in [(0, 1), (5, 77), (40, 40)]:
        both = ~votes.mask[:, i] & ~votes.mask[:, j]
        assert share[i, j] == pytest.approx(np.mean(votes.codes[both, i] == votes.codes[both, j]))
    np.testing.assert_array_equal(share, share.T)
