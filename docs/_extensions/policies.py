"""Show the constants of a policy as a table: its fields, their values, and the comments beside them in the code."""

import importlib
import inspect
import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

FIELD = re.compile(r"    (\w+): [^=]+? = (.+?)(?:  # (.*))?$")
SECTION = re.compile(r"    # --- (.*) ---$")


def read_policy(kind: type) -> list[tuple[str, str, str]]:
    """Return name, value and comment of each field, in their order; sections have a name alone."""
    found: list[tuple[str, str, str]] = []
    comment: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        if section := SECTION.match(line):
            found.append((section[1], "", ""))
        elif line.startswith("    # "):
            comment.append(line.removeprefix("    # "))
        elif own := FIELD.match(line):
            said = " ".join([*comment, own[3] or ""]).strip()
            found.append((own[1], own[2], said or f"as {found[-1][0]}"))
            comment = []
        elif line.strip() == "":
            continue
        else:
            comment = []
    return found


class Policy(SphinxDirective):
    """A directive whose one argument is the name of a policy, with its module."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        module, name = self.arguments[0].rsplit(".", 1)
        kind = getattr(importlib.import_module(module), name)
        lines = ["| constant | value | what was measured |", "|---|---|---|"]
        for field, value, comment in read_policy(kind):
            said = comment.replace("|", "\\|")
            lines.append(f"| `{field}` | `{value}` | {said} |" if value else f"| **{field}** | | |")
        self.env.note_dependency(inspect.getsourcefile(kind))
        node = nodes.container()
        self.state.nested_parse(StringList(lines, self.arguments[0]), self.content_offset, node)
        return node.children


def setup(app) -> dict[str, bool]:
    """Offer the directive."""
    app.add_directive("policy", Policy)
    return {"parallel_read_safe": True}
