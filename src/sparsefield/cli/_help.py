"""Help in sections, 80 columns wide: data, model, output, resources."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

# Where options stand; all others are about what a command does, and come first.
_SECTIONS = {
    "Data": (
        *("columns", "ignore", "id", "ordinal", "weight", "frequency", "cluster", "missing", "missing_marker", "level"),
        *("merge_levels", "text", "max_levels", "separator", "sheet", "header"),
    ),
    "Output": (
        *("output", "report", "picture", "choice_picture", "differences_picture", "stability_picture", "field"),
        *("nodes", "color", "title", "infer", "verbose", "quiet", "json", "help"),
    ),
    "Resources": (
        *("certify", "gap", "draws", "max_iter", "max_seconds", "checkpoint", "jobs", "seed", "threads", "device"),
    ),
}
_OTHERS = "Model"


class Command(TyperCommand):
    """A command whose options are told in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and then options section by section."""
        section_of = {name: section for section, names in _SECTIONS.items() for name in names}
        places = {name: k for k, name in enumerate(section_of)}
        found: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OTHERS: [], **{name: [] for name in _SECTIONS}}
        for parameter in sorted(self.get_params(ctx), key=lambda own: places.get(own.name or "", -1)):
            told = parameter.get_help_record(ctx)
            if told is not None:
                is_argument = parameter.param_type_name == "argument"
                found["Arguments" if is_argument else section_of.get(parameter.name or "", _OTHERS)].append(told)
        only = sum(len(rows) > 0 for name, rows in found.items() if name != "Arguments") == 1
        for name, rows in found.items():
            if rows:
                with formatter.section("Options" if only and name != "Arguments" else name):
                    formatter.write_dl(rows)
