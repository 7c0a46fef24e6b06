"""A contract of import-linter: the files of a room are imported by that room alone; everybody else takes its door."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class Doors(Contract):
    """No module imports a file of another room, but of rooms that have no door."""

    open_rooms = fields.SetField(subfield=fields.StringField(), required=False, default=set())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Find imports that go past a door."""
        found = []
        for module in sorted(graph.modules):
            path = module.split(".")
            if path[0] != "sparsefield" or len(path) < 3 or path[1] in self.open_rooms:
                continue
            room = ".".join(path[:2])
            importers = sorted(graph.find_modules_that_directly_import(module))
            others = (own for own in importers if own != room and not own.startswith(f"{room}."))
            found += [f"{importer} imports {module}" for importer in others]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print them."""
        for sentence in check.metadata["found"]:
            output.print_error(sentence)
