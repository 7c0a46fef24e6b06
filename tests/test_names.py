"""Tests mirror the source: the test of a source file bears its name, in a folder of the same name."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "sparsefield"
ROOMS = {path.name.strip("_"): path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
ROOMS["experiments"] = PACKAGE.with_name("sparsefield_experiments")

# Ways through several files, by room; those of the whole package lie beside this file.
THEMES = {
    "": {"device", "door", "first_contact", "names", "typed_use"},
    "certificates": {"levels"},
    "estimators": {"independence", "seeds", "sklearn"},
    "experiments": {"quick_run"},
    "inference": {"conformance", "contracts"},
}
MIRRORED = sorted({"", *ROOMS})


def list_tests(room):
    """Return the files of tests of a room, as paths below its folder."""
    folder = TESTS / room
    return [path.relative_to(folder) for path in (folder.rglob if room else folder.glob)("test_*.py")]


def is_mirrored(room, path):
    """Return whether a file of tests is named after a source file, or after one and what is tested of it."""
    about = path.stem.removeprefix("test_")
    sources = {own.stem.strip("_") for own in (ROOMS.get(room, PACKAGE) / path.parent).glob("*") if own.is_file()}
    return any(f"{about}_".startswith(f"{source}_") for source in sources - {"init"})


@pytest.mark.parametrize("room", MIRRORED)
def test_files_of_tests_bear_the_names_of_source_files(room):
    named = {path.stem.removeprefix("test_") for path in list_tests(room) if not is_mirrored(room, path)}
    assert named == THEMES.get(room, set())


def test_every_folder_of_tests_is_a_room():
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert folders - set(ROOMS) == {"docs"}
