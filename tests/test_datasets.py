import numpy as np
import pytest

from sparsefield.datasets import load_senate, make_field
from sparsefield.plotting._agreement import agreement


def test_the_senate_is_complete():
    senate = load_senate()
    assert senate.votes.codes.shape == (279, 100)
    assert senate.members["name"].to_list() == list(senate.votes.domain.names)
    assert senate.members["party"].value_counts().sort("party")["count"].to_list() == [44, 1, 55]
    assert len(senate.roll_calls) == 279
    # Rockefeller missed 113 votes, the next senator 34.
    holes = dict(zip(senate.votes.domain.names, senate.votes.n_holes.tolist(), strict=True))
    assert holes["Rockefeller (D-WV)"] == 113
    assert sorted(holes.values())[-2] == 34


def test_votes_add_up_to_the_official_totals():
    senate = load_senate()
    yeas = (senate.votes.codes == 1).sum(axis=1)
    nays = (senate.votes.codes == 0).sum(axis=1)
    np.testing.assert_array_equal(yeas, senate.roll_calls["yeatotal"])
    np.testing.assert_array_equal(nays, senate.roll_calls["naytotal"])


def test_agreement_counts_rows_where_both_were_observed():
    votes = load_senate().votes
    share = agreement(votes)
    for i, j in [(0, 1), (5, 77), (40, 40)]:
        both = ~votes.mask[:, i] & ~votes.mask[:, j]
        assert share[i, j] == pytest.approx(np.mean(votes.codes[both, i] == votes.codes[both, j]))
    np.testing.assert_array_equal(share, share.T)


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
        make_field(5, density=0.1, degree=2, seed=1)
    with pytest.raises(ValueError, match=r"probability 2\.5"):
        make_field(5, degree=10, seed=1)
