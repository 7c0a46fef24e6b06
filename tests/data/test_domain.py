"""Domains check their names, levels, references and scores."""

import numpy as np
import pytest

from sparsefield.data import Domain


def test_a_domain_checks_itself():
    with pytest.raises(ValueError, match="2 names but levels for 1 variable"):
        Domain(("a", "b"), ((0, 1),), (0, 0))
    with pytest.raises(ValueError, match="'a' lists a level twice"):
        Domain(("a",), ((1, 1),), (0,))
    with pytest.raises(ValueError, match="'a' has no levels"):
        Domain(("a",), ((),), (0,))
    with pytest.raises(ValueError, match="reference of variable 'a' is code 2"):
        Domain(("a",), ((0, 1),), (2,))
    with pytest.raises(ValueError, match="1 variable but 2 reference levels"):
        Domain(("a",), ((0, 1),), (0, 0))
    with pytest.raises(ValueError, match=r"'a' has the level 0\.5: use booleans"):
        Domain(("a",), ((0.5, 1),), (0,))
    with pytest.raises(ValueError, match="'a' mixes kinds of levels, 0, True"):
        Domain(("a",), ((0, True),), (0,))
    with pytest.raises(ValueError, match=r"reference of variable 'a' is code 0\.7"):
        Domain(("a",), ((0, 1),), (0.7,))
    assert Domain(["a"], [[0, 1]], [0]) == Domain(("a",), ((0, 1),), (0,))
    plain = Domain(("a",), (tuple(np.arange(2)),), tuple(np.zeros(1, dtype=int)))
    assert type(plain.levels[0][1]) is int
    domain = Domain(("a", "b"), ((0, 1), ("x", "y", "z")), (0, 1))
    assert domain.slot_names == ("a", "b=x", "b=z")
    assert not domain.is_binary
    assert domain == Domain(("a", "b"), ((0, 1), ("x", "y", "z")), (0, 1))


def test_scores_must_ascend_and_be_as_many_as_levels():
    for scores in ((0, 2, 1), (0, 0, 1), (0, 1), (0, 1, float("inf"))):
        with pytest.raises(ValueError, match="score"):
            Domain(("a",), ((1, 2, 3),), (0,), (scores,))
    with pytest.raises(ValueError, match="but scores for 2"):
        Domain(("a",), ((1, 2, 3),), (0,), (None, None))
