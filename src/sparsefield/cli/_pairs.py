"""How sure pairs are: found and told by the commands that have a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparsefield._deadline import OutOfTimeError, until
from sparsefield.cli import _options as options
from sparsefield.cli._app import Output
from sparsefield.cli._tables import Sampling

if TYPE_CHECKING:  # commands import these when they run: their help need not wait for them
    from sparsefield.cli._loading import LoadedTable
    from sparsefield.fits import Fit
    from sparsefield.network import Network
    from sparsefield.pairs import Inference

_MOST_VARIABLES = 300  # with 1000 there are half a million pairs, which take minutes where a fit may take seconds


@dataclass(frozen=True)
class Inferring(Sampling):
    """How rows were drawn, and whether to say how sure each edge is, for commands whose work is another."""

    infer: options.Infer = None

    def check(self, rows: LoadedTable) -> None:
        """Refuse, before any work is done, to say what cannot be said."""
        from sparsefield.data import TableError

        if self.infer and not rows.table.is_in_memory:
            raise TableError("--infer needs rows in memory, and this table is too large for that", "leave it out")

    def find(
        self,
        rows: LoadedTable,
        out: Output,
        weight: str | None,
        *,
        missing: str,
        n_threads: int | None = None,
        is_wanted: bool = True,
        moment: float = float("inf"),
    ) -> Inference | None:
        """Return how sure each pair is, or None where that is not wanted or cannot be said, which is said instead.

        Parameters
        ----------
        rows : LoadedTable
            The table.
        out : Output
            Where to say why not.
        weight : str or None
            The column of the weights.
        missing : str
            What the fit does with missing values.
        n_threads : int, optional
            Threads to use.
        is_wanted : bool
            Whether anybody will read it.
        moment : float
            When there is no time left, by `time.perf_counter`.
        """
        if self.infer is False or not (is_wanted or self.infer):
            return None
        excuse = self._excuse(rows)
        if not excuse:
            try:
                with until(moment):
                    return find_pairs(rows, out, self, weight, missing=missing, n_threads=n_threads)
            except OutOfTimeError:
                excuse = "There was no time left to say how sure each edge is."
        out.say(excuse)
        return None

    def find_edges(
        self,
        rows: LoadedTable,
        out: Output,
        weight: str | None,
        fdr: float,
        *,
        missing: str,
        n_threads: int | None = None,
    ) -> Inference:
        """Return how sure each pair is, where edges are to be found by it; or refuse."""
        from sparsefield.data import TableError

        if self.infer is False:
            raise ValueError("--fdr finds edges by what --no-infer leaves out: leave one of them out.")
        if not rows.table.is_in_memory:
            raise TableError("--fdr needs rows in memory, and this table is too large for that", "leave it out")
        return find_pairs(rows, out, self, weight, fdr=fdr, missing=missing, n_threads=n_threads)

    def _excuse(self, rows: LoadedTable) -> str:
        """Say why nothing can be said of these rows; an empty string where it can."""
        from sparsefield.pairs import explain_untestable

        n = rows.table.domain.n_variables
        if not rows.table.is_in_memory:
            return "How sure each edge is cannot be said of rows that are not in memory."
        why = explain_untestable(rows.table.domain)
        if why:
            return f"{why}."
        if rows.table.n_rows < 2:
            return "How sure each edge is cannot be said from a single row."
        if n > _MOST_VARIABLES and not self.infer:
            return f"How sure each edge is takes a while with {n} variables, and is left out: --infer finds it."
        return ""


def find_pairs(rows: LoadedTable, out: Output, sampling: Sampling, weight: str | None, **how: Any) -> Inference:
    """Find how sure each pair is, and point at weights that may be counts."""
    from sparsefield.learning import infer

    if sampling.frequency is None and rows.is_whole:
        out.warn(
            f"Column {weight!r} has whole numbers beside rows that all differ, which are taken for counts of equal "
            "rows. If they are weights of a survey, add --survey."
            if rows.are_counts
            else f"Column {weight!r} has whole numbers, which are taken for weights of a survey. If they count equal "
            "rows, add --frequency."
        )
    how |= {"sample_weight": rows.weights, "frequency": rows.are_counts, "clusters": rows.clusters}
    return infer(rows.table, **how, progress=out.progress)  # type: ignore[arg-type]  # True, False or "auto"


def describe_sampling(found: Inference, rows: LoadedTable, sampling: Sampling, weight: str | None) -> Iterable[str]:
    """Say what weights, clusters and missing cells do to how much the rows tell."""
    from sparsefield.data import count

    n = found.n_rows
    if weight is not None and rows.are_counts:
        yield f"Column {weight!r} counts equal rows: {n} stand for {found.n_effective:.10g}."
    elif weight is not None:
        yield (
            f"Column {weight!r} has weights of a survey, whose scale does not matter: by them, {count(n, 'row')} tell "
            f"as much as {found.n_effective:.0f} of equal weight."
        )
    if sampling.cluster is not None:
        yield (
            f"Column {sampling.cluster!r} puts rows into {count(found.n_clusters or 0, 'cluster')}: those of the same "
            "need not be independent."
        )
    if f"{found.design_effect:.2f}" != "1.00":
        yield (
            f"Variances are {found.design_effect:.2f} times those of {found.n_effective:.0f} independent rows (the "
            "design effect, in the median over pairs)."
        )


def describe_edges(fit: Fit, network: Network) -> Iterable[str]:
    """Say how many edges of a fit are sure, and what stands beside them in a table."""
    from sparsefield.network import describe_inference

    if network.inference is None:
        return
    yield describe_inference(network)
    if network.n_edges:
        shrunken = ", shrunken by its penalty" if fit.alpha and fit.penalty != "Ridge" else ""
        yield (
            f"Weights are those of the fit{shrunken}. Estimates are almost unbiased, and the intervals are theirs: "
            "`sparsefield infer` has them for all pairs."
        )


def explain_q(found: Inference) -> str:
    """Say what q-values are."""
    least = "probability of any false edge" if found.rate == "holm" else "false discovery rate"
    return f"q is the least {least} at which a pair is an edge."


def compare(network: Network) -> dict[str, Any] | None:
    """Return what programs want to know of all pairs beside a fit."""
    return None if network.inference is None else {**as_numbers(network.inference), "n_shared": network.n_sure}


def say_interval(row: Mapping[str, Any], form: str) -> tuple[str, str, str]:
    """Return estimate, interval and q-value of a row of a table of pairs, as they are read."""
    from sparsefield.pairs import as_q

    estimate, low, high = (format(row[name], form) for name in ("estimate", "low", "high"))
    return estimate, f"{low} to {high}", as_q(row["q"])


def as_numbers(found: Inference) -> dict[str, Any]:
    """Return what programs want to know of all pairs."""
    return {
        "sentence": found.sentence,
        "fdr": found.fdr,
        "rate": found.rate,
        "confidence": found.level,
        "n_pairs": len(found.pairs),
        "n_edges": found.n_edges,
        "n_untold": int((~found.is_told).sum()),
        "n_effective": found.n_effective,
        "design_effect": found.design_effect,
        "n_clusters": found.n_clusters,
    }
