import itertools

import numpy as np
import pytest

import sparsefield as sf
from sparsefield.data import MISSING
from support import naive
from support.zoo import parts, random_field

MIXED = sf.Domain(("a", "b", "c", "d"), ((False, True), ("x", "y", "z"), (1, 2), (0, 5, 7)), (1, 2, 0, 1))


def every_state(domain):
    states = list(itertools.product(*[range(n) for n in domain.n_levels]))
    return sf.Table(domain, np.array(states, dtype=np.uint8, order="F"))


@pytest.mark.parametrize("members", [("a", "b"), ("d", "a"), ("c", "d", "b"), ("a", "b", "c", "d")])
def test_merged_values_come_apart_again(members):
    merged, table = sf.data.Merged(MIXED, members), every_state(MIXED)
    joined = merged.join(table)
    assert joined.domain.n_variables == 5 - len(members)
    np.testing.assert_array_equal(merged.split(joined).codes, table.codes)


def test_labels_and_order_are_those_of_the_members_as_given():
    merged = sf.data.Merged(MIXED, ["d", "a"])
    # In the place of d, which is the first as given; the last member varies fastest.
    assert merged.domain.names == ("b", "c", "d&a")
    assert merged.domain.levels[2] == ("0|False", "0|True", "5|False", "5|True", "7|False", "7|True")
    frame, joined = every_state(MIXED).to_frame(), merged.join(every_state(MIXED)).to_frame()
    expected = [f"{d}|{a}" for d, a in zip(frame["d"], frame["a"], strict=True)]
    assert joined["d&a"].to_list() == expected
    assert joined["b"].to_list() == frame["b"].to_list()


def test_the_reference_is_the_combination_of_those_of_the_members():
    domain = sf.data.Merged(MIXED, ["a", "b"]).domain
    assert domain.levels[0][domain.reference[0]] == "True|z"
    assert domain.reference[1:] == MIXED.reference[2:]
    without = sf.data.Merged(sf.Domain(MIXED.names, MIXED.levels, None), ["a", "b"])
    assert without.domain.reference is None


def test_merged_variables_have_no_order_and_others_keep_theirs():
    domain = sf.Domain(MIXED.names, MIXED.levels, None, (None, (1.0, 2.0, 4.0), None, (0.0, 5.0, 7.0)))
    assert sf.data.Merged(domain, ["a", "b"]).domain.scores == (None, None, (0.0, 5.0, 7.0))
    assert sf.data.Merged(domain, ["b", "d"]).domain.scores is None


def test_a_merged_value_is_missing_where_that_of_any_member_is():
    table = sf.Table(MIXED, np.array([[0, MISSING, 1, 2], [1, 2, MISSING, 0], [1, 2, 0, 0]], dtype=np.uint8, order="F"))
    merged = sf.data.Merged(MIXED, ["a", "b"])
    joined = merged.join(table)
    assert joined.mask.tolist() == [[True, False, False], [False, True, False], [False, False, False]]
    assert merged.split(joined).mask.tolist() == [[True, True, False, False], [False, False, True, False], [False] * 4]


def test_a_field_of_merged_variables_has_the_law_of_any_pairwise_field_of_the_parts():
    # Merging all but one of the variables leaves a pairwise field everything that it can say of them.
    model = random_field([2, 3, 2], seed=4)
    states, probabilities, _ = naive.distribution(*parts(model))
    merged = sf.data.Merged(model.domain, ["v0", "v1"])
    domain = merged.domain
    joined = merged.join(sf.Table(model.domain, np.array(states, dtype=np.uint8, order="F")))
    logs = np.log(probabilities).reshape(6, 2)  # the last variable varies fastest
    block = np.zeros((domain.n_slots, domain.n_slots))
    block[:5, 5] = block[5, :5] = (logs - logs[0] - logs[:, :1] + logs[0, 0])[1:, 1]
    main = np.append((logs - logs[0])[1:, 0], logs[0, 1] - logs[0, 0])
    found = np.exp(sf.PairwiseMRF(domain, main, block).log_prob(joined))
    # A dozen exponents of order one, each right to 2^-53 of itself.
    np.testing.assert_allclose(found, probabilities, rtol=1e-13)


def test_parity_has_no_edge_in_pairs_and_is_recovered_by_a_merged_pair():
    # x3 is the parity of x1 and x2 in nine of ten rows: each pair of variables is exactly independent.
    states = every_state(sf.Domain.binary(["x1", "x2", "x3"]))
    holds = states.codes[:, 0] ^ states.codes[:, 1] == states.codes[:, 2]
    table = states[np.repeat(np.arange(8), np.where(holds, 9, 1))]
    alpha = 0.001
    assert sf.edge_table(sf.learn(table, alpha)).is_empty()
    merged = sf.data.Merged(table.domain, ["x1", "x2"])
    fit = sf.learn(merged.join(table), alpha, certify=True)
    assert sf.edge_table(fit).select("first", "second").rows() == [("x1&x2", "x3")]
    law = np.exp(fit.model.log_prob(merged.join(states)))
    # A penalised optimum has the main moments of the table; those of pairs are off by alpha at most, or by twice alpha
    # where the penalty is that of a block, and those with a reference by what three others are. Being above the optimum
    # by the gap makes a total variation of sqrt(gap / 2) at most (Pinsker).
    allowed = 3 * alpha + np.sqrt(fit.optimality.gap / 2)
    assert np.abs(law - np.where(holds, 0.9, 0.1) / 4).max() < allowed
    assert allowed < 0.01
    draws = merged.split(fit.model.sample(100, seed=1))
    assert draws.domain == table.domain


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (["a"], "at least two different variables"),
        (["a", "a"], "at least two different variables"),
        (["a", "e"], "no variable named 'e'"),
    ],
)
def test_members_that_cannot_be_merged_are_refused(members, message):
    with pytest.raises(ValueError, match=message):
        sf.data.Merged(MIXED, members)


def test_too_many_levels_are_refused_with_their_number():
    domain = sf.Domain(("a", "b"), (tuple(range(16)), tuple(range(16))), None)
    with pytest.raises(ValueError, match=r"16 x 16 = 256 levels: at most 254 fit"):
        sf.data.Merged(domain, ["a", "b"])


def test_labels_that_would_be_the_same_are_refused():
    domain = sf.Domain(("a", "b"), (("p", "p|q"), ("q|r", "r")), None)
    with pytest.raises(ValueError, match=r"rename levels that contain '\|'"):
        sf.data.Merged(domain, ["a", "b"])


def test_tables_of_other_variables_are_refused():
    merged = sf.data.Merged(MIXED, ["a", "b"])
    with pytest.raises(ValueError, match="other variables or levels"):
        merged.join(merged.join(every_state(MIXED)))
    with pytest.raises(ValueError, match="other variables or levels"):
        merged.split(every_state(MIXED))
