"""Values of draws rounded to a few bits: what their covariances with indicators are off by."""

import numpy as np
import pytest

from sparsefield.inference.chains import _random_rounding
from sparsefield.inference.chains._random_rounding import round_randomly, round_values

N = 20_000


def make_values(shape, rng):
    return {
        "normal": rng.normal(size=N),
        "skewed": np.exp(rng.normal(size=N)),
        "constant": np.full(N, 0.3),
        "two values": rng.choice([-1.0, 3.0], N),
    }[shape]


def make_indicators(rng):
    """Return indicators of all frequencies, (N, 300)."""
    return rng.random((N, 300)) < np.linspace(0, 1, 300)


def covariances(s, values):
    return (s - s.mean(axis=0)).T @ values / len(values)


@pytest.mark.parametrize("shape", ["normal", "skewed", "constant", "two values"])
@pytest.mark.parametrize("within", [0.1, 0.01, 0.001, 1e-9])
def test_errors_of_random_rounding_are_within_their_bound(shape, within):
    rng = np.random.default_rng(1)
    s, values = make_indicators(rng), make_values(shape, rng)
    s[:, ::7] = values[:, None] > np.quantile(values, np.linspace(0, 1, 43))  # what follows the values is no exception
    found = round_randomly(values, 300, within)
    assert found.error <= within or found.numbers.max() > 2**7
    assert np.abs(covariances(s, found.unit * found.numbers) - covariances(s, values)).max() <= found.error + 1e-15


def test_no_more_bits_are_taken_than_are_wanted():
    values = np.random.default_rng(2).normal(size=N)
    n_bits = [int(round_randomly(values, 300, within).numbers.max()).bit_length() for within in (1.0, 0.03, 0.003)]
    assert n_bits[0] == 1
    assert n_bits == sorted(set(n_bits))
    # Errors of eight bits that are not random may all add up: as many random ones as small take fewer bits.
    nearest = round_values(values)
    assert int(round_randomly(values, 300, nearest.error).numbers.max()).bit_length() <= 5


def test_random_rounding_is_right_on_average():
    values = np.random.default_rng(3).normal(size=N)
    found = round_randomly(values, 300, 1.0)  # a single bit, which is off by far
    errors = found.unit * found.numbers - values  # but for a constant
    low, high = (errors[np.abs(values - centre) < 0.3] for centre in (-1, 1))
    assert abs(low.mean() - high.mean()) <= 5 * np.hypot(low.std() / np.sqrt(len(low)), high.std() / np.sqrt(len(high)))
    assert errors.std() > 0.5


def test_without_the_margin_for_its_risk_the_bound_is_exceeded(monkeypatch):
    monkeypatch.setattr(_random_rounding, "_RISK", 2.0)  # the margin is zero then, for one indicator
    rng = np.random.default_rng(4)
    s, values = make_indicators(rng), rng.normal(size=N)
    found = round_randomly(values, 1, 1.0)
    assert np.abs(covariances(s, found.unit * found.numbers) - covariances(s, values)).max() > found.error
