"""Pages about fits, written by several commands."""

import matplotlib.image

from support.program import run


def test_pages_say_how_sure_edges_are_unless_told_not_to(answers, tmp_path):
    field, page = tmp_path / "a.field", tmp_path / "a.html"
    fit = ("fit", answers, "--id", "person", "--alpha", "0.02", "--no-certify", "-o", field, "--report", page)
    bootstrap = ("bootstrap", answers, "--id", "person", "--alpha", "0.02", "-n", 2, "--report", page)
    for words in (fit, bootstrap, ("report", field, "--data", answers, "-o", page)):
        run(*words, "--quiet")
        assert "at a false discovery rate of 0.1" in page.read_text(encoding="utf-8")
        said = run(*words, "--no-infer")
        assert "false discovery rate" not in said + page.read_text(encoding="utf-8")


def test_pages_and_pictures_are_written(answers, tmp_path):
    nodes = tmp_path / "nodes.csv"
    names = ["item 0", "item 1", "item 2", "score 3", "score 4", "score 5"]
    nodes.write_text("name,kind\n" + "".join(f"{name},{name.split()[0]}\n" for name in names))
    page, picture = tmp_path / "a.html", tmp_path / "a.png"
    run("fit", answers, "--id", "person", "--report", page, "--picture", picture, "--nodes", nodes, "--color", "kind")
    assert matplotlib.image.imread(picture).shape[0] > 500
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    field = answers.with_suffix(".field")
    said = run("report", field, "-o", tmp_path / "b.html", "--data", answers, "--title", "My answers")
    assert "other rows" not in said
    others = tmp_path / "others.csv"
    lines = answers.read_text().splitlines()
    others.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    said = run("report", field, "-o", tmp_path / "c.html", "--data", others)
    assert "other rows than the 800 that the field is fitted to" in said
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "<h1>My answers</h1>" in text
    assert "800 rows, 16 missing values" in text
    assert 'id="compare"' not in text
    assert "does not end in .png" in run("fit", answers, "--id", "person", "--picture", tmp_path / "a.bmp", code=2)
