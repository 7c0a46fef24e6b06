"""Groups of variables, which a table beside the fitted one has."""

from support.program import run


def test_groups_reach_the_page(answers, tmp_path):
    nodes = tmp_path / "nodes.csv"
    names = ["item 0", "item 1", "item 2", "score 3", "score 4", "score 5"]
    nodes.write_text("name,kind\n" + "".join(f"{name},kind-{name.split()[0]}\n" for name in names))
    run("fit", answers, "--id", "person", "--report", tmp_path / "a.html", "--nodes", nodes, "--color", "kind", "-q")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text.count('"group": "kind-item"') == 3
    nodes.write_text(nodes.read_text() + "item 0,again\n")
    said = run("fit", answers, "--id", "person", "--nodes", nodes, "--color", "kind", code=2)
    assert "names the variable 'item 0' more than once" in said


def test_a_table_of_variables_must_have_them_all(field, tmp_path):
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("name,kind\nitem 0,a\nitem one,a\n")
    assert "does not have the variable 'item 1': add a row for it." in run(
        "export", field, "-o", tmp_path / "a.gexf", "--nodes", nodes, code=2
    )
