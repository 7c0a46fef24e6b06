"""Rules that choose a penalty: an information criterion, rows held out, stability of the edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsefield._parameters import parameters
from sparsefield.data import count
from sparsefield.fitting import Learner
from sparsefield.parallel import Result
from sparsefield.selection.choices._criteria import Worth, average_folds, instability, within_one_error
from sparsefield.selection.choices._null_edges import alpha_of_null_edges, null_alpha
from sparsefield.selection.choices._path_rule import Found, PathRule, Verdict
from sparsefield.selection.choices._row_subsets import Part, make_folds, make_subsamples, seed_of_part


@parameters
class EBIC(PathRule):
    """The least extended BIC of the edges of each fit of a path, among penalties whose edges chance cannot explain.

    Edges are refitted without their penalty, variable by variable.

    Parameters
    ----------
    gamma : float
        What the choice among sets of edges costs, from 0 (the BIC) to 1.
    alphas, n_alphas, relax, n_jobs, checkpoint
        As for all rules of a path (`selection.PathRule`).

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(5000, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(sf.EBIC(gamma=0.5, n_alphas=10), random_state=1).fit(table)
    >>> mrf.choice_.criterion, mrf.graph().number_of_edges()
    ('ebic', 3)
    """

    gamma: float = 0.25

    is_timed = True
    without_edges = (
        "Edges are not worth their parameters, or could be chance: the variables are independent, or there are too few "
        "rows to tell."
    )

    @property
    def worth(self) -> Worth:
        """What edges are worth."""
        return Worth(self.gamma)

    def check(self) -> None:
        """Refuse a gamma that makes no sense."""
        _ = self.worth

    def last_alpha(self, learner: Learner) -> float:
        """Return the penalty below which chance explains too many edges, even if all pairs had one."""
        return alpha_of_null_edges(learner, self.worth.null_share)

    def judge(self, found: Found) -> Verdict:
        """Choose the least, of those at which chance explains few of the edges."""
        whole, worth = found.whole, self.worth
        name, share = f"EBIC (gamma = {worth.gamma:g})", f"{worth.null_share:.0%}"
        counts = whole["parameters"], whole["chosen"]
        values = worth.values(whole["pseudo_log_likelihood"], *counts, float(whole["n_rows"]), found.n_variables)
        is_clear = worth.is_clear(found.null_edges, whole["chosen"])
        index, n_penalties = _find_least(np.where(is_clear, values, np.inf), whole), _count_penalties(len(values))
        columns = {"null_edges": found.null_edges, "ebic": values}
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


@parameters
class HeldOut(PathRule):
    """The largest penalty whose log-likelihood of rows that are held out is within one standard error of the best.

    Parameters
    ----------
    cv : int, splitter or list of pairs of arrays
        How many folds the rows are shuffled into, each of which is held out once; or a splitter of scikit-learn, or
        pairs of indices of rows to fit and to hold out.
    alphas, n_alphas, relax, n_jobs, checkpoint
        As for all rules of a path (`selection.PathRule`).

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(1000, method="perfect", seed=1)
    >>> sf.SparseMRF(sf.HeldOut(cv=3, n_alphas=5), random_state=1).fit(table).choice_.criterion
    'held_out'
    """

    cv: Any = 5

    needs_likelihood = True
    without_edges = (
        "Edges do not raise the log-likelihood of rows that are held out by more than a standard error: the variables "
        "are nearly independent, or there are too few rows to tell."
    )

    @property
    def parts_rows(self) -> bool:
        """Whether rows are shuffled into folds; indices that are given are those of the rows as they are."""
        return isinstance(self.cv, int | np.integer)

    def parts(self, n_rows: int, seed: int) -> list[Part]:
        """Return the folds."""
        if self.parts_rows:
            _check_whole("cv", self.cv, 2, n_rows)
            return make_folds(n_rows, self.cv, seed)
        if isinstance(self.cv, str) or not (hasattr(self.cv, "split") or isinstance(self.cv, Sequence)):
            raise ValueError(
                f"cv is {self.cv!r}: use a whole number, a splitter, or a list of pairs of indices of rows."
            )
        folds = list(self.cv.split(np.zeros((n_rows, 1))) if hasattr(self.cv, "split") else self.cv)
        if len(folds) < 2:
            raise ValueError(f"cv makes {count(len(folds), 'fold')}: a standard error takes two.")
        if any(np.max(own, initial=0) >= n_rows for fold in folds for own in fold):
            raise ValueError(f"cv has indices of rows that there are none of: the table has {count(n_rows, 'row')}.")
        return [Part(seed_of_part(seed, k + 1), *map(np.asarray, own)) for k, own in enumerate(folds)]

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


@parameters
class StARS(PathRule):
    """The smallest penalty on whose edges subsamples agree (Liu, Roeder and Wasserman 2010).

    Parameters
    ----------
    beta : float
        On which share of all pairs two subsamples may disagree.
    n_subsamples : int
        How many subsamples are drawn, each of 10 sqrt(n) of n rows without replacement, or of 0.8 n of them where there
        are no more than 144.
    alphas, n_alphas, relax, n_jobs, checkpoint
        As for all rules of a path (`selection.PathRule`).

    Examples
    --------
    >>> import sparsefield as sf
    >>> table = sf.datasets.make_field(6, strength=(1.0, 1.5), seed=7).sample(1000, method="perfect", seed=1)
    >>> sf.SparseMRF(sf.StARS(n_alphas=5), random_state=1).fit(table).choice_.criterion
    'instability'
    """

    beta: float = 0.05
    n_subsamples: int = 20

    parts_rows = True
    without_edges = (
        "No edges are as stable as asked for: the variables are independent, or subsamples are too small to tell."
    )

    def check(self) -> None:
        """Refuse shares and numbers that make no sense."""
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
