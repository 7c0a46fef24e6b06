import io
import json
import os
import zipfile

import numpy as np
import pytest

from sparsefield import Domain, PairwiseMRF
from support.zoo import ZOO, random_field


@pytest.mark.parametrize("model", ZOO.values(), ids=ZOO.keys())
def test_a_saved_field_comes_back_bit_for_bit(tmp_path, model):
    path = tmp_path / "model.field"
    model.save(path)
    again = PairwiseMRF.load(path)
    assert again.domain == model.domain
    np.testing.assert_array_equal(again.main, model.main)
    np.testing.assert_array_equal(again.interactions, model.interactions)


def test_names_and_levels_of_all_kinds_come_back(tmp_path):
    domain = Domain(('ü, "x"\n', "b", "c"), ((False, True), (-1, 1), ("no", "日本")), (0, 1, 0))
    model = PairwiseMRF(domain, np.zeros(3), np.zeros((3, 3)))
    model.save(tmp_path / "m.field")
    levels = PairwiseMRF.load(tmp_path / "m.field").domain.levels
    assert levels == domain.levels
    assert [type(level) for own in levels for level in own] == [bool, bool, int, int, str, str]


def test_saving_over_a_file_replaces_it_whole(tmp_path):
    path = tmp_path / "m.field"
    for seed in (1, 2):
        random_field([2, 3], seed=seed).save(path)
    np.testing.assert_array_equal(PairwiseMRF.load(path).main, random_field([2, 3], seed=2).main)
    assert os.listdir(tmp_path) == ["m.field"]


def test_a_failed_save_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "m.field"
    model = random_field([2, 3], seed=1)
    model.save(path)
    before = path.read_bytes()

    def fail(*_args, **_options):
        raise OSError("disk full")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        random_field([2, 3], seed=2).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.field"]
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere': make it first"):
        model.save(tmp_path / "nowhere" / "m.field")


def rewrite(path, changes):
    """Copy an archive with some members changed or (None) left out."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= changes
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)


def header(**changes):
    known = {"format": "sparsefield model", "version": 1, "names": ["a"], "levels": [[0, 1]], "reference": [0]}
    return json.dumps(known | changes)


def npy(array, save=np.save):
    content = io.BytesIO()
    save(content, array)
    return content.getvalue()


DAMAGE = {
    "no header": {"header.json": None},
    "no array": {"main.npy": None},
    "header is not JSON": {"header.json": "{"},
    "header is not text": {"header.json": b"\xff\xfe\xff"},
    "header is a list": {"header.json": "[]"},
    "another format": {"header.json": header(format="something else")},
    "a later version": {"header.json": header(version=99)},
    "no version": {"header.json": header(version=None)},
    "version zero": {"header.json": header(version=0)},
    "names are one word": {"header.json": header(names="a")},
    "complex numbers": {"main.npy": npy(np.zeros(4, dtype=complex))},
    "an archive for an array": {"main.npy": npy(np.zeros(4), np.savez)},
    "not finite": {"main.npy": npy(np.full(4, np.nan))},
    "names doubled": {"header.json": header(names=["a", "a"], levels=[[0, 1]] * 2, reference=[0, 0])},
    "names are a number": {"header.json": header(names=5)},
    "another shape": {"header.json": header()},
    "not an array": {"main.npy": b"nonsense"},
    "empty array": {"main.npy": b""},
}


@pytest.mark.parametrize("changes", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_files_get_a_sentence(tmp_path, changes):
    path = tmp_path / "m.field"
    random_field([2, 2, 3], seed=1).save(path)
    rewrite(path, changes)
    with pytest.raises(ValueError, match=r"^File '.*m\.field' (is not a saved field|is damaged|has format version)"):
        PairwiseMRF.load(path)


def load_or_complain(path):
    """Return the field, or the sentence that says why not."""
    try:
        return PairwiseMRF.load(path)
    except ValueError as error:
        return str(error)


def test_a_file_cut_or_changed_anywhere_is_refused_or_harmless(tmp_path):
    path = tmp_path / "m.field"
    model = random_field([2, 3, 2], seed=1)
    model.save(path)
    whole = path.read_bytes()
    for n in range(0, len(whole), 7):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match="File "):
            PairwiseMRF.load(path)
    for n in range(len(whole)):
        path.write_bytes(whole[:n] + bytes([whole[n] ^ 0x55]) + whole[n + 1 :])
        again = load_or_complain(path)
        # What is read all the same had a date or a flag of the archive changed: contents have a checksum each.
        if isinstance(again, PairwiseMRF):
            np.testing.assert_array_equal(again.interactions, model.interactions)
        else:
            assert again.startswith("File ")


def test_objects_are_never_unpickled(tmp_path):
    path = tmp_path / "m.field"
    random_field([2], seed=1).save(path)
    evil = tmp_path / "evil.npy"
    np.save(evil, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    rewrite(path, {"main.npy": evil.read_bytes()})
    with pytest.raises(ValueError, match="is damaged: Object arrays cannot be loaded"):
        PairwiseMRF.load(path)


def test_foreign_files_get_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        PairwiseMRF.load(tmp_path / "none.field")
    (tmp_path / "text.field").write_text("hello")
    with pytest.raises(ValueError, match="is not a saved field, or is damaged"):
        PairwiseMRF.load(tmp_path / "text.field")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="is not a saved field, or is damaged"):
        PairwiseMRF.load(tmp_path / "other.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        PairwiseMRF.load(tmp_path)
