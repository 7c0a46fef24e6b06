"""Rules that choose a penalty: an information criterion, rows held out, stability of the edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sparsefield.data import count
from sparsefield.fitting import Learner
from sparsefield.parallel import Result
from sparsefield.selection.choices._criteria import Worth, average_folds, instability, within_one_error
from sparsefield.selection.choices._null_edges import alpha_of_null_edges, null_alpha
from sparsefield.selection.choices._row_subsets import Part, make_folds, make_subsamples, seed_of_part


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
    noise : ndarray of shape (n_alphas,)
        How many pairs sampling error would give an edge at each penalty, were all variables independent: pairs of
        levels, or with groups of variables.
    """

    alphas: Sequence[float]
    n_variables: int
    whole: Result
    parts: Sequence[Result]
    noise: NDArray[np.float64]


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


class Rule(Protocol):
    """A way to choose a penalty."""

    @property
    def needs_likelihood(self) -> bool:
        """Whether the log-likelihoods of fits must be known."""
        ...

    @property
    def takes(self) -> str:
        """What it takes of a table: "all rows", "folds" or "subsamples"."""
        ...

    @property
    def worth(self) -> Worth | None:
        """What edges are worth, where they are refitted; None for other rules."""
        ...

    @property
    def without_edges(self) -> str:
        """What it means where it chooses no edge, in a sentence."""
        ...

    def first_alpha(self, learner: Learner, n_rows: int) -> float:
        """Return how large the first penalty of a path is to be, at least."""
        ...

    def last_alpha(self, learner: Learner) -> float | None:
        """Return how small the last penalty of a path is to be; None where paths have an end of their own."""
        ...

    def parts(self, n_rows: int, seed: int) -> list[Part]:
        """Return the parts of a table that have paths of their own, beside the whole of it."""
        ...

    def judge(self, found: Found) -> Verdict:
        """Choose."""
        ...


@dataclass(frozen=True)
class ByInformation:
    """The least extended BIC of the whole table, among penalties whose edges chance cannot explain."""

    worth: Worth
    needs_likelihood, takes = False, "all rows"
    without_edges = (
        "Edges are not worth their parameters, or could be chance: the variables are independent, or there are too few "
        "rows to tell."
    )

    def first_alpha(self, learner: Learner, n_rows: int) -> float:  # noqa: ARG002
        """Return zero: `alpha_max` is large enough."""
        return 0.0

    def last_alpha(self, learner: Learner) -> float:
        """Return the penalty below which chance explains too many edges, even if all pairs had one."""
        return alpha_of_null_edges(learner, self.worth.noise_share)

    def parts(self, n_rows: int, seed: int) -> list[Part]:  # noqa: ARG002
        """Return nothing: the whole table says it all."""
        return []

    def judge(self, found: Found) -> Verdict:
        """Choose the least, of those at which chance explains few of the edges."""
        whole, worth = found.whole, self.worth
        name, share = f"EBIC (gamma = {worth.gamma:g})", f"{worth.noise_share:.0%}"
        counts = whole["parameters"], whole["chosen"]
        values = worth.values(whole["pseudo_log_likelihood"], *counts, float(whole["n_rows"]), found.n_variables)
        is_clear = worth.is_clear(found.noise, whole["chosen"])
        index, n_penalties = _find_least(np.where(is_clear, values, np.inf), whole), _count_penalties(len(values))
        columns = {"noise": found.noise, "ebic": values}
        if not is_clear.any():
            reason = (
                f"is the largest of {n_penalties}: chance alone could explain more than {share} of the edges at each, "
                f"so that {name} chose none"
            )
            return Verdict(index, columns, reason)
        reason = (
            f"has the least {name}, {values[index]:.6g}, of {n_penalties}, taken of the edges of each fit, refitted "
            "variable by variable without a penalty"
        )
        if n_less := np.count_nonzero(values < values[index]):
            have = "has" if n_less == 1 else "have"
            reason += f"; {n_less} {have} less, but chance alone could explain more than {share} of edges there"
        return Verdict(index, columns, reason)


@dataclass(frozen=True)
class ByHoldingOut:
    """The largest penalty whose held-out log-likelihood is within one standard error of the best."""

    n_folds: int | Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
    needs_likelihood, takes, worth = True, "folds", None
    without_edges = (
        "Edges do not raise the log-likelihood of rows that are held out by more than a standard error: the variables "
        "are nearly independent, or there are too few rows to tell."
    )

    def first_alpha(self, learner: Learner, n_rows: int) -> float:  # noqa: ARG002
        """Return zero: `alpha_max` is large enough."""
        return 0.0

    def last_alpha(self, learner: Learner) -> None:
        """Return nothing: paths end where they do."""

    def parts(self, n_rows: int, seed: int) -> list[Part]:
        """Return the folds."""
        if not isinstance(self.n_folds, Sequence):
            _check_whole("n_folds", self.n_folds, 2, n_rows)
            return make_folds(n_rows, self.n_folds, seed)
        if len(self.n_folds) < 2:
            raise ValueError(f"cv makes {count(len(self.n_folds), 'fold')}: a standard error takes two.")
        return [Part(seed_of_part(seed, k + 1), *map(np.asarray, own)) for k, own in enumerate(self.n_folds)]

    def judge(self, found: Found) -> Verdict:
        """Choose by the rule of one standard error."""
        weights = np.array([float(part["n_held_out"]) for part in found.parts])
        mean, error = average_folds(np.array([part["held_out"] for part in found.parts]), weights)
        simulation = np.array([part["error"] for part in found.parts])
        columns = {
            "held_out": mean,
            "standard_error": error,
            "simulation_error": np.sqrt((weights / weights.sum()) ** 2 @ simulation**2),
        }
        index, best = within_one_error(mean, error), int(np.argmax(mean))
        reason = (
            f"is the largest of {_count_penalties(len(mean))} whose held-out log-likelihood, {mean[index]:.6g} nats "
            f"per row over {len(found.parts)} folds, is within one standard error, {error[best]:.2g}, of the best"
        )
        reason += "" if index == best else f", {mean[best]:.6g} at alpha = {found.alphas[best]:.3g}"
        return Verdict(index, columns, reason, float(mean[best] - error[best]))


@dataclass(frozen=True)
class ByStability:
    """The smallest penalty on whose edges subsamples agree (Liu, Roeder and Wasserman 2010)."""

    beta: float
    n_subsamples: int
    needs_likelihood, takes, worth = False, "subsamples", None
    without_edges = (
        "No edges are as stable as asked for: the variables are independent, or subsamples are too small to tell."
    )

    def __post_init__(self) -> None:
        if not 0 < self.beta < 0.5:
            raise ValueError(f"beta is {self.beta}: use a number between 0 and 0.5, such as 0.05.")
        _check_whole("n_subsamples", self.n_subsamples, 2, None)

    def first_alpha(self, learner: Learner, n_rows: int) -> float:
        """Return below which penalty the sampling error of a subsample makes edges, where the whole table has none."""
        return null_alpha(learner, self.size(n_rows))

    def size(self, n_rows: int) -> int:
        """Return the rows of a subsample: 10 sqrt(n) of n, as in the paper, and 0.8 n where n is at most 144."""
        if n_rows < 2:
            raise ValueError(f"The table has {count(n_rows, 'row')}: subsamples need at least two.")
        return int(10 * np.sqrt(n_rows) if n_rows > 144 else 0.8 * n_rows)

    def last_alpha(self, learner: Learner) -> None:
        """Return nothing: paths end where they do."""

    def parts(self, n_rows: int, seed: int) -> list[Part]:
        """Return the subsamples."""
        return make_subsamples(n_rows, self.n_subsamples, self.size(n_rows), seed)

    def judge(self, found: Found) -> Verdict:
        """Choose the smallest penalty that is stable enough; where none is, the largest."""
        n_pairs = found.n_variables * (found.n_variables - 1) // 2
        edges = [np.unpackbits(part["pairs"], axis=1, count=n_pairs).astype(bool) for part in found.parts]
        values = instability(np.array(edges))
        index = max(0, int(np.count_nonzero(values <= self.beta)) - 1)
        size = int(found.parts[0]["n_rows"]) if found.parts else 0
        over = f"{self.n_subsamples} subsamples of {size} rows"
        if values[index] > self.beta:
            reason = (
                f"is the largest of {_count_penalties(len(values))}. None has edges as stable as asked for: two of "
                f"{over} disagree on {values[index]:.2g} of all pairs already here, more than beta = {self.beta:g}"
            )
        else:
            reason = (
                f"is the smallest of {_count_penalties(len(values))} whose edges are as stable as asked for: two of "
                f"{over} disagree on {values[index]:.2g} of all pairs, at most beta = {self.beta:g}"
            )
        return Verdict(index, {"instability": values}, reason, self.beta)


def _find_least(values: NDArray[np.float64], whole: Result) -> int:
    """Return the place of the least value; of fits with the same edges, the one that is shrunken least.

    Criteria of refitted edges are the same then. With twelve variables and 250, 1000 and 4000 rows, eight tables each,
    the log-likelihood of fresh rows is 0.154, 0.057 and 0.020 nats a row below that of the truth, and 0.177, 0.077 and
    0.078 with the largest of such penalties. Fits that stayed where the last one was, for want of draws, do not count;
    and without edges the largest penalty is the one that surely leaves none.
    """
    index = best = int(np.argmin(values))
    if whole["edges"][best] and np.isfinite(values[best]):
        for place in range(best + 1, len(values)):
            if values[place] != values[best]:
                break
            index = place if whole["is_moved"][place] else index
    return index


def _count_penalties(n: int) -> str:
    return "one penalty" if n == 1 else f"{n} penalties"


def _check_whole(name: str, value: int, least: int, most: int | None) -> None:
    """Refuse what is not a whole number in a range."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        end = "on" if most is None else f"to {most}, the number of rows"
        raise ValueError(f"{name} is {value!r}: use a whole number from {least} {end}.")
