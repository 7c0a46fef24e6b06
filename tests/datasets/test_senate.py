"""The votes of the Senate of 2006 are complete, and add up to the official totals."""

import numpy as np

from sparsefield.datasets import load_senate


def test_the_senate_is_complete():
    senate = load_senate()
    assert senate.votes.codes.shape == (279, 100)
    assert senate.members["name"].to_list() == list(senate.votes.domain.names)
    assert senate.members["party"].value_counts().sort("party")["count"].to_list() == [44, 1, 55]
    assert senate.roll_calls.columns[:6] == ["session", "number", "date", "bill", "question", "result"]
    assert len(senate.roll_calls) == 279
    assert {date.year for date in senate.roll_calls["date"]} == {2006}
    assert senate.members["state"].n_unique() == 50
    # Rockefeller missed 113 votes, the next senator 34.
    absent = dict(zip(senate.votes.domain.names, senate.votes.n_missing.tolist(), strict=True))
    assert absent["Rockefeller (D-WV)"] == 113
    assert sorted(absent.values())[-2] == 34


def test_votes_add_up_to_the_official_totals():
    senate = load_senate()
    yeas = (senate.votes.codes == 1).sum(axis=1)
    nays = (senate.votes.codes == 0).sum(axis=1)
    np.testing.assert_array_equal(yeas, senate.roll_calls["yeatotal"])
    np.testing.assert_array_equal(nays, senate.roll_calls["naytotal"])
