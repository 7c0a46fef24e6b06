"""The bound that the paper compares its own with."""

import numpy as np

from sparsefield import PairwiseMRF
from sparsefield.certificates import fischer, fischer_sweeps
from sparsefield.datasets import make_field


def test_fischers_bound_is_the_formula():
    for seed in range(10):
        model = make_field(5, strength=(0.05, 0.2), seed=seed)
        fields = [model.main + sign * np.maximum(sign * model.interactions, 0).sum(axis=1) for sign in (-1, 1)]
        for n_sweeps in (0, 1, 7):
            expected = 2 * np.sqrt(15) * (1 - np.exp(-5 * np.abs(fields).max())) ** n_sweeps
            np.testing.assert_allclose(fischer(model, n_sweeps).bias, expected, rtol=1e-12)


def test_fischers_sweeps_are_those_of_its_bound():
    weak = PairwiseMRF.binary([0.1, -0.2], [[0.0, 0.3], [0.3, 0.0]])
    for bias in (1.0, 0.01):
        n = fischer_sweeps(weak, bias)
        assert fischer(weak, int(np.floor(n))).bias >= bias >= fischer(weak, int(np.ceil(n))).bias
    assert fischer_sweeps(PairwiseMRF.binary([0.0], [[0.0]]), 0.01) == 1
