import numpy as np
import pytest

import sparsefield as sf
from support import naive
from support.zoo import parts

LETTERS = "-ACD"


def random_letters(seed, *, reference=None, p=3):
    """Make a field of columns that have all letters."""
    rng = np.random.default_rng(seed)
    domain = sf.Domain(tuple(str(k + 1) for k in range(p)), (tuple(LETTERS),) * p, reference)
    pair = np.triu(rng.normal(size=(domain.n_slots,) * 2))
    pair[domain.slot_variables[:, None] == domain.slot_variables] = 0
    return sf.PairwiseMRF(domain, rng.normal(size=domain.n_slots), pair + pair.T)


@pytest.mark.parametrize("numbers", [False, True])
def test_a_field_comes_back_bit_for_bit(tmp_path, numbers):
    model, path = random_letters(1), tmp_path / "params.dat"
    sf.proteins.write_adabmdca(model, path, alphabet=LETTERS, numbers=numbers)
    again = sf.proteins.read_adabmdca(path, alphabet=LETTERS)
    assert again.domain == model.domain
    np.testing.assert_array_equal(again.main, model.main)
    np.testing.assert_array_equal(again.interactions, model.interactions)


def test_reference_levels_have_zeros_and_the_same_probabilities(tmp_path):
    model, path = random_letters(2, reference=(0, 3, 1)), tmp_path / "params.dat"
    sf.proteins.write_adabmdca(model, path, alphabet=LETTERS)
    again = sf.proteins.read_adabmdca(path, alphabet=LETTERS, names=["a", "b", "c"])
    assert again.domain.names == ("a", "b", "c")
    # The same parameters and zeros: the same sums in the same order.
    np.testing.assert_array_equal(naive.distribution(*parts(again))[1], naive.distribution(*parts(model))[1])
    back = again.with_reference((0, 3, 1))
    np.testing.assert_array_equal(back.interactions, model.interactions)
    np.testing.assert_array_equal(back.main, model.main)


def test_lines_are_those_of_the_definition(tmp_path):
    path = tmp_path / "params.dat"
    model = random_letters(3)
    sf.proteins.write_adabmdca(model, path, alphabet=LETTERS)
    h, j = {}, {}
    for line in path.read_text().splitlines():
        kind, *where, value = line.split(" ")
        (j if kind == "J" else h)[tuple(where)] = float(value)
    states, probabilities, _ = naive.distribution(*parts(model))
    exponents = [
        sum(h[str(i), LETTERS[x]] for i, x in enumerate(state))
        + sum(j[str(i), str(k), LETTERS[state[i]], LETTERS[state[k]]] for i in range(3) for k in range(i + 1, 3))
        for state in states
    ]
    # Six numbers of order one, in another order.
    np.testing.assert_allclose(np.exp(exponents) / np.exp(exponents).sum(), probabilities, rtol=1e-13)
    # Interactions come first, since adabmDCA's reader counts on it, and each once.
    kinds = [line[0] for line in path.read_text().splitlines()]
    assert kinds == ["J"] * 3 * 16 + ["h"] * 12


def test_interactions_may_be_listed_either_way_round(tmp_path):
    path = tmp_path / "params.dat"
    text = "h 0 - 0\nh 0 A 1e-3\nh 1 - 0\nh 1 A 0.5\n"
    path.write_text(text + "J 0 1 A - 2.5\n")
    expected = sf.proteins.read_adabmdca(path, alphabet="-A")
    for lines in ("J 1 0 - A 2.5\n", "J 1 0 0 1 2.5\nJ 0 1 1 0 2.5\n\n"):
        path.write_text(text + lines)
        found = sf.proteins.read_adabmdca(path, alphabet="-A")
        np.testing.assert_array_equal(found.interactions, expected.interactions)
    assert expected.interactions[1, 2] == 2.5
    assert np.count_nonzero(expected.interactions) == 2


def test_letters_that_a_column_lacks_need_a_main_effect(tmp_path):
    domain = sf.Domain(("1", "2"), (("A", "D"), tuple(LETTERS)), (0, 0))
    pair = np.zeros((4, 4))
    pair[0, 2] = pair[2, 0] = 1.5
    model, path = sf.PairwiseMRF(domain, [0.5, 1.0, 2.0, 3.0], pair), tmp_path / "params.dat"
    with pytest.raises(ValueError, match=r"'1' does not have the letter '-'.*levels='all'.*absent"):
        sf.proteins.write_adabmdca(model, path, alphabet=LETTERS)
    assert not path.exists()
    sf.proteins.write_adabmdca(model, path, alphabet=LETTERS, absent=-1000)
    again = sf.proteins.read_adabmdca(path, alphabet=LETTERS)
    states, probabilities, _ = naive.distribution(*parts(model))
    moved = [(LETTERS.index("AD"[x]), y) for x, y in states]
    # Letters with a main effect of -1000 have no probability that a float can hold.
    np.testing.assert_allclose(np.exp(again.log_prob(moved)), probabilities, rtol=1e-12)


def test_levels_that_are_no_letters_are_refused(tmp_path):
    model = sf.PairwiseMRF.binary([0.0], [[0.0]])
    with pytest.raises(ValueError, match="'x0' has the level 0, which is no letter of"):
        sf.proteins.write_adabmdca(model, tmp_path / "params.dat")
    sf.proteins.write_adabmdca(model, tmp_path / "params.dat", alphabet="01")
    assert sf.proteins.read_adabmdca(tmp_path / "params.dat", alphabet="01").domain.levels == (("0", "1"),)


WHOLE = "h 0 - 0\nh 0 A 1\nh 1 - 0\nh 1 A 0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WHOLE + "J 0 1 A\n", "line 5: it is neither 'J i j a b value' nor 'h i a value'"),
        (WHOLE + "K 0 1 A A 1\n", "line 5: it is neither"),
        (WHOLE + "\nJ 0 1 A W 1\n", "line 6: 'W' is neither a letter of the alphabet nor the number of one"),
        (WHOLE + "J 0 1 2 1 1\n", "line 5: '2' is neither"),
        (WHOLE + "J 0 -1 A A 1\n", "line 5: '-1' is no column"),
        (WHOLE + "J 1 1 A A 1\n", "line 5: column 1 interacts with itself"),
        (WHOLE + "J 0 1 A A one\n", "line 5: 'one' is no finite number"),
        (WHOLE + "J 0 1 A A nan\n", "line 5: 'nan' is no finite number"),
        (WHOLE + "J 0 1 A A 1\nJ 1 0 A A 2\n", r"line 6: the value 2\.0 was 1\.0 on an earlier line"),
        (WHOLE + "h 0 A 2\n", r"line 5: the value 2\.0 was 1\.0"),
        (WHOLE + "J 0 2 A A 1\n", "has no h of column 2 and letter '-'"),
        ("h 0 - 0\nh 0 A 1\nh 1 - 0\n", "no h of column 1 and letter 'A': is it whole, and is '-A' its alphabet"),
        ("J 0 1 A A 1\n", "has no line 'h i a value'"),
    ],
)
def test_files_that_make_no_sense_are_refused_with_their_line(tmp_path, text, message):
    path = tmp_path / "params.dat"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        sf.proteins.read_adabmdca(path, alphabet="-A")


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        sf.proteins.read_adabmdca(tmp_path / "params.dat")
