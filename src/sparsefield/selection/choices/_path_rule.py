"""Rules that choose from a path of penalties: paths of a table and of parts of it, and a sentence that says why."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, ClassVar

import joblib
import numpy as np
import polars as pl
from numpy.typing import NDArray

from sparsefield._kernels._compiling import seconds_compiling
from sparsefield._parameters import Parameters
from sparsefield.data import Rows
from sparsefield.fits import Fit
from sparsefield.fitting import Learner, Options
from sparsefield.inference import MOST_ENTRIES, count_entries
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield.parallel import Result, Watch, run_pieces
from sparsefield.selection.choices._criteria import Choice, Worth, say_edges
from sparsefield.selection.choices._null_edges import count_along, count_null_edges, null_alpha
from sparsefield.selection.choices._row_subsets import Part, PathOfPart, seed_of_part
from sparsefield.selection.paths._path import Objective, WatchFits, check_objective, grid, order_alphas
from sparsefield.selection.paths._path_weights import PathWeights

_WITHOUT_TIME = "alpha = {:.3g} is the {}. There was no time to try others: give more seconds, or an alpha."


@dataclass(frozen=True, eq=False)
class Found:
    """The paths of all parts of a table.

    Parameters
    ----------
    alphas : sequence of float
        The penalties, from the largest to the smallest.
    n_variables : int
        How many variables there are.
    whole : dict of arrays
        The path of all rows.
    parts : sequence of dict of arrays
        Those of folds or subsamples.
    null_edges : ndarray of shape (n_alphas,)
        How many pairs sampling error would give an edge at each penalty, were all variables independent: pairs of
        levels, or with groups of variables.
    """

    alphas: Sequence[float]
    n_variables: int
    whole: Result
    parts: Sequence[Result]
    null_edges: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a rule says.

    Parameters
    ----------
    index : int
        The place of the penalty that it chose.
    columns : dict of arrays
        What it was chosen by, for each penalty.
    reason : str
        Why, as the end of a sentence that begins with the penalty.
    threshold : float, optional
        What the columns were compared with, where it was not the least that was chosen.
    """

    index: int
    columns: dict[str, NDArray[np.float64]]
    reason: str
    threshold: float | None = None


@dataclass(repr=False, kw_only=True)
class PathRule(Parameters, ABC):
    """A rule that chooses among the fits of a path of penalties.

    Parameters
    ----------
    alphas : sequence of float, optional
        The penalties to choose from. Unless given, `n_alphas` from `alpha_max` down to where a rule has its last one.
    n_alphas : int
        How many there are, unless they are given.
    relax : bool
        Whether the edges of the fit with the penalty that is chosen are fitted again without it, so that their weights
        are not shrunken.
    n_jobs : int, optional
        Folds or subsamples at a time, -1 for as many as there are processors; see `parallel.run_pieces`.
    checkpoint : path, optional
        A folder that keeps finished parts of the choice, so that it can go on.
    """

    alphas: Sequence[float] | None = None
    n_alphas: int = 30
    relax: bool = False
    n_jobs: int | None = None
    checkpoint: str | os.PathLike[str] | None = None

    needs_likelihood: ClassVar[bool] = False  # whether the log-likelihoods of fits must be known
    is_timed: ClassVar[bool] = False  # whether it can choose among the penalties that there was time for
    without_edges: ClassVar[str]  # what it means where no edge is chosen, in a sentence

    @property
    def worth(self) -> Worth | None:
        """What edges are worth, where they are refitted; None for other rules."""
        return None

    @property
    def parts_rows(self) -> bool:
        """Whether a row that counts three times is three rows, which parts of the table may have some of."""
        return False

    def check(self) -> None:
        """Refuse parameters that make no sense."""

    def first_alpha(self, learner: Learner, n_rows: int) -> float:  # noqa: ARG002
        """Return how large the first penalty of a path is to be, at least: `alpha_max` is large enough."""
        return 0.0

    def last_alpha(self, learner: Learner) -> float | None:  # noqa: ARG002
        """Return how small the last penalty of a path is to be; None where paths have an end of their own."""
        return None

    def parts(self, n_rows: int, seed: int) -> list[Part]:  # noqa: ARG002
        """Return the parts of a table that have paths of their own, beside the whole of it."""
        return []

    @abstractmethod
    def judge(self, found: Found) -> Verdict:
        """Choose."""

    def choose(
        self,
        learner: Learner,
        *,
        objective: Objective = "likelihood",
        seconds: float | None = None,
        watch: Watch | None = None,
        **options: Any,
    ) -> Choice:
        """Choose the penalty of a table.

        Parameters
        ----------
        learner : Learner
            The table, and what is asked of its fit.
        objective : "likelihood" or "pseudolikelihood"
            What is penalised.
        seconds : float, optional
            Time after which the choice is among the penalties that were tried by then.
        watch : callable, optional
            Called with the number of parts or penalties that are done, that of all, and the seconds that are left.
        **options
            Of the fits of the path, which have their own gap and solver unless given.
        """
        self.check()
        if seconds is not None and (not self.is_timed or self.checkpoint is not None):
            raise ValueError(
                "max_seconds is for EBIC() without a checkpoint: other rules need all of their fits. Use fewer alphas, "
                "folds or subsamples."
            )
        check_objective(objective)
        if self.relax and objective != "likelihood":
            raise ValueError("relax is for fits of the likelihood: leave it out, or use SparseMRF(EBIC(relax=True)).")
        asked = learner.options
        own = {"penalty": asked.penalty, "penalize_main": asked.penalize_main, "device": asked.device, **options}
        own |= {} if seconds is None else {"max_seconds": seconds}
        rows = _part_rows(learner.rows) if self.parts_rows else learner.rows
        n_rows = rows.table.n_rows
        first, last = self.first_alpha(learner, n_rows), self.last_alpha(learner)
        wanted = order_alphas(self.alphas) if self.alphas is not None else grid(learner, self.n_alphas, first, last)
        parts = self.parts(n_rows, asked.seed)
        null_edges = count_along(learner, wanted)
        is_here = not parts and joblib.effective_n_jobs(self.n_jobs) == 1
        work = PathOfPart(
            rows,
            wanted,
            _choose_path(objective, self, learner),
            self.needs_likelihood,
            self.worth,
            null_edges,
            own,
            _watch_fits(watch) if is_here and watch is not None else None,
        )
        results = run_pieces(
            work,
            [Part(seed_of_part(asked.seed, 0)), *parts],
            identity=_identify(work, parts, asked),
            checkpoint=self.checkpoint,
            n_jobs=self.n_jobs,
            n_threads=asked.n_threads,
            watch=None if is_here else watch,
        )
        n_tried = len(results[0]["edges"])
        if n_tried == 0:
            which = "smallest penalty that leaves no edge" if self.alphas is None else "largest penalty that was given"
            said = _WITHOUT_TIME.format(wanted[0], which)
            return Choice(0, wanted[0], pl.DataFrame(schema={"alpha": pl.Float64}), said)
        n_known = _count_known(results) if self.needs_likelihood else n_tried
        whole, *others = [_take_first(result, n_tried, n_known) for result in results]
        found = Found(wanted[:n_known], rows.table.domain.n_variables, whole, others, null_edges[:n_known])
        is_out_of_time = not results[0]["is_whole"]
        choice = _conclude(found, self, learner, n_tried=n_tried, n_wanted=len(wanted), is_out_of_time=is_out_of_time)
        return replace(choice, relax=self.relax)


def _choose_path(objective: Objective, rule: PathRule, learner: Learner) -> Objective:
    """Return what the fits of a path maximise: the pseudo-likelihood where their edges alone are asked for.

    Edges of fits on draws change from seed to seed, and so would what is chosen by them; those of the pseudo-likelihood
    do not, and the same alpha leaves about the same edges where main effects are free. Fields that are enumerated need
    no draws.
    """
    takes_draws = count_entries(learner.table.domain) > MOST_ENTRIES
    is_alike = not learner.options.penalize_main
    return "pseudolikelihood" if takes_draws and not rule.needs_likelihood and is_alike else objective


def _watch_fits(watch: Watch) -> WatchFits:
    """Tell how many penalties are done, and how long the rest takes, by those after the first.

    Time that kernels took to be compiled does not count: the first fits compile one after another.
    """
    ends: list[float] = []

    def tell(n_done: int, n_all: int, fit: Fit) -> None:  # noqa: ARG001
        ends.append(time.perf_counter() - seconds_compiling())
        n_timed = len(ends) - 1
        watch(n_done, n_all, (ends[-1] - ends[0]) / n_timed * (n_all - n_done) if n_timed else None)

    return tell


def _part_rows(rows: Rows) -> Rows:
    """Make a row of each time that a row counts, where all weights are whole numbers."""
    weights = rows.weights
    if weights is None or (weights != np.floor(weights)).any():
        return rows
    return Rows(rows.table[np.repeat(np.arange(rows.table.n_rows), weights.astype(np.int64))])


def _count_known(results: Sequence[Result]) -> int:
    """Count the penalties, from the largest on, whose log-likelihoods are all known."""
    is_unknown = np.zeros(len(results[0]["log_likelihood"]), dtype=bool)
    for result in results:
        for name in {"log_likelihood", "held_out"} & set(result):
            is_unknown |= np.isnan(result[name])
    n_known = int(np.argmax(is_unknown)) if is_unknown.any() else len(is_unknown)
    if n_known == 0:
        raise ValueError(
            "The log-likelihood of the fits is out of reach: use EBIC() or StARS(), which do without, or larger alphas."
        )
    return n_known


def _take_first(result: Result, n_tried: int, n: int) -> Result:
    """Keep what is about the first n of the penalties."""
    return {name: own[:n] if own.ndim and len(own) == n_tried else own for name, own in result.items()}


def _name_parts(parts: Sequence[Part]) -> str:
    """Return what tells the parts of a table from others."""
    rows = [own.tobytes() for part in parts for own in (part.fitted, part.held_out) if own is not None]
    return f"{len(parts)} parts {sha256(b'|'.join(rows)).hexdigest()[:16]}" if parts else "all rows"


def _identify(work: PathOfPart, parts: Sequence[Part], options: Options) -> dict[str, object]:
    """Return what the paths depend on: what edges are worth may end them early."""
    own = {name: value for name, value in options.settings().items() if name != "n_threads"}
    if isinstance(options.init, PairwiseMRF):
        own["init"] = sha256(as_theta(options.init).tobytes()).hexdigest()[:16]
    return {
        "what": "choice of a penalty",
        "parts": _name_parts(parts),
        "alphas": [float(alpha) for alpha in work.alphas],
        "objective": work.objective,
        "log_likelihoods": work.needs_likelihood,
        **({} if work.worth is None else asdict(work.worth)),
        "domain": sha256(repr(work.rows.table.domain).encode()).hexdigest()[:16],
        **work.rows.facts,
        **own,
    }


def _conclude(
    found: Found, rule: PathRule, learner: Learner, *, n_tried: int, n_wanted: int, is_out_of_time: bool
) -> Choice:
    """Choose, and make the table and the sentence."""
    verdict = rule.judge(found)
    whole, index = found.whole, verdict.index
    alpha, n_edges = found.alphas[index], int(whole["edges"][index])
    table = _tabulate(found, verdict.columns)
    sentences = [f"alpha = {alpha:.3g} {verdict.reason}. {say_edges(n_edges)}"]
    sentences.append(rule.without_edges if n_edges == 0 else describe_null_edges(alpha, learner))
    if len(found.alphas) < n_tried:
        sentences.append(
            f"The log-likelihood of {n_tried - len(found.alphas)} smaller penalties is out of reach: they were not "
            "compared."
        )
    elif n_tried < n_wanted and is_out_of_time:
        sentences.append(f"There was time for {n_tried} of {n_wanted} penalties: smaller ones may be better.")
    elif index == n_wanted - 1 > 0:
        sentences.append("It is the smallest alpha that was tried: smaller ones may be better.")
    sentence, weights = " ".join(filter(None, sentences)), _find_weights(found, learner)
    return Choice(index, alpha, table, sentence, verdict.threshold, weights, n_edges)


def _find_weights(found: Found, learner: Learner) -> PathWeights | None:
    """Return the weights along the path; folders of finished parts that have none may be older."""
    whole = found.whole
    if "weights" not in whole:
        return None
    return PathWeights(tuple(found.alphas), learner.table.domain.names, whole["joined"][0], whole["weights"])


def _tabulate(found: Found, columns: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    """Return a row for each penalty: what is known of its fit, and by what it was judged."""
    names = ("edges", "parameters", "log_likelihood", "pseudo_log_likelihood", "error", "status")
    known = {name: found.whole[name] for name in names if name in found.whole}
    return pl.DataFrame({"alpha": np.array(found.alphas), **known, **columns})


def describe_null_edges(alpha: float, learner: Learner) -> str:
    """Say that sampling error makes edges at a penalty, where it does; how many is known for free main effects."""
    least = 0.0 if learner.options.penalize_main else null_alpha(learner)
    if alpha >= least:
        return ""
    n_pairs, kind = count_null_edges(learner, alpha), learner.make_penalty(alpha)
    of = "levels" if kind.groups is None else "variables"
    what = (
        f"about {n_pairs:{'.2g' if n_pairs < 10 else '.0f'}} pairs of {of} would have an edge"
        if n_pairs >= 1
        else (f"there would be an edge with a probability of up to {n_pairs:.2g}")
    )
    return (
        f"{_tell_apart(alpha, least)}, the sampling error of the table: were all variables independent, {what} at it "
        "all the same. Some of the edges may be sampling error."
    )


def _tell_apart(alpha: float, least: float) -> str:
    """Say that a penalty is below the least without false edges, with as many digits as tell the two numbers apart."""
    if float(f"{least:.2g}") > float(f"{alpha:.3g}"):  # as many as the sentence of a choice has
        return f"This alpha is below {least:.2g}"
    digits = next(n for n in range(3, 18) if f"{alpha:.{n}g}" != f"{least:.{n}g}")  # 17 tell any two floats apart
    return f"This alpha, {alpha:.{digits}g}, is below {least:.{digits}g}"
