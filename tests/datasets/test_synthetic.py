"""Fields that are made up have the density, the strength and the shape that are asked for."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.datasets import make_chain, make_field, make_grid, make_small_world, make_star


def test_synthetic_fields_have_the_asked_density_and_strength():
    model = make_field(60, degree=5, strength=(0.5, 0.8), seed=1)
    values = model.interactions[np.triu_indices(60, 1)]
    present = values[values != 0]
    assert np.all((np.abs(present) >= 0.5) & (np.abs(present) <= 0.8))
    # Binomial(1770, 5/59): mean 150, standard deviation 11.7; six of them for a false alarm of 2e-9.
    assert abs(len(present) - 150) < 6 * 11.7
    assert np.any(present > 0)
    assert np.any(present < 0)
    assert not np.any(make_field(9, main=False, seed=1).main)


def test_bad_densities_are_refused():
    with pytest.raises(ValueError, match="both given"):
        make_field(5, edge_probability=0.1, degree=2, seed=1)
    with pytest.raises(ValueError, match=r"probability 2\.5"):
        make_field(5, degree=10, seed=1)


def test_bad_strengths_and_sizes_are_refused():
    for strength in [(2.0, 1.0), (-1.0, 1.0)]:
        with pytest.raises(ValueError, match="strength is"):
            make_field(5, strength=strength, seed=1)
        with pytest.raises(ValueError, match="strength is"):
            make_chain(5, strength=strength, seed=1)
    with pytest.raises(ValueError, match="n_columns is 0"):
        make_grid(3, 0, seed=1)
    with pytest.raises(ValueError, match="even number"):
        make_small_world(10, 3, seed=1)
    with pytest.raises(ValueError, match="rewiring is 2"):
        make_small_world(10, 4, 2, seed=1)


def neighbours(model):
    return [set(np.flatnonzero(row).tolist()) for row in model.interactions]


def test_shaped_fields_have_the_edges_of_their_shape():
    assert neighbours(make_chain(4, seed=1)) == [{1}, {0, 2}, {1, 3}, {2}]
    assert neighbours(make_star(4, seed=1)) == [{1, 2, 3}, {0}, {0}, {0}]
    # 0 1 2
    # 3 4 5
    assert neighbours(make_grid(2, 3, seed=1)) == [{1, 3}, {0, 2, 4}, {1, 5}, {0, 4}, {1, 3, 5}, {2, 4}]
    ring = make_small_world(8, 4, 0.0, seed=1)
    assert neighbours(ring) == [{(i + k) % 8 for k in (-2, -1, 1, 2)} for i in range(8)]
    rewired = make_small_world(30, 4, 0.5, seed=1)
    assert (rewired.interactions != 0).sum() == 2 * 60
    assert neighbours(rewired) != neighbours(make_small_world(30, 4, 0.0, seed=1))
    assert neighbours(make_chain(1, seed=1)) == [set()]


@pytest.mark.parametrize(
    "model",
    [make_chain(7, seed=2), make_star(7, seed=2), make_grid(3, 3, seed=2), make_small_world(9, 4, 0.3, seed=2)],
)
def test_shaped_fields_are_balanced_and_of_the_asked_strength(model):
    present = np.abs(model.interactions[model.interactions != 0])
    assert np.all((present >= 1) & (present <= 2))
    np.testing.assert_allclose(sf.inference.Exact().moments(model).main, 0.5, rtol=1e-12)
