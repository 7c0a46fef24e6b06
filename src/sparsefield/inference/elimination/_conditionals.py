"""What a field says of missing values given the observed cells of their rows, exactly, by variable elimination."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import log_softmax

from sparsefield._deadline import check_time
from sparsefield._typing import Codes, Index, Values
from sparsefield.data import MISSING, Domain, distinct_rows
from sparsefield.inference._field import Field, energies
from sparsefield.inference.elimination._cliques import ELIMINATION, EliminationPolicy, Neighbours, Plan, make_plan
from sparsefield.inference.elimination._elimination import Eliminated, log_max, log_sum
from sparsefield.inference.exact_draws._perfect import OutOfReachError
from sparsefield.inference.missing._enumerated_rows import MOST_STATES


@dataclass(frozen=True, eq=False)
class _Part:
    """Missing values that depend on each other given the observed cells, and the rows that miss them.

    Parameters
    ----------
    plan : Plan or None
        How they are summed out; None where that is out of reach.
    rows : ndarray of int
        The rows.
    """

    plan: Plan | None
    rows: Index


class Given:
    """Rows with missing values, given their observed cells.

    The missing values of a row fall into the connected components of the graph of their variables. Components are
    independent given the observed cells, and each is summed out by itself.

    Parameters
    ----------
    field : Field
        The model.
    codes : ndarray of shape (n, n_variables)
        Rows, 255 where a value is missing.
    variable : int, optional
        One whose values count as missing, where only the component that it is part of is asked for.
    numbers : ndarray of shape (n,), optional
        What to call the rows in messages; 0, 1, 2, ... unless given.
    policy : EliminationPolicy
        How much summing may take, and how many orders may be tried.

    Attributes
    ----------
    is_in_reach : ndarray of shape (n,), bool
        Of which rows all components can be summed out.
    """

    def __init__(
        self,
        field: Field,
        codes: Codes,
        *,
        variable: int | None = None,
        numbers: Index | None = None,
        policy: EliminationPolicy = ELIMINATION,
    ) -> None:
        # What has one level is known.
        self._codes = np.where((codes == MISSING) & (field.domain.n_levels == 1), 0, codes).astype(np.uint8)
        self._field, self._neighbours, self._policy = field, Neighbours(field), policy
        self._variable, self._numbers = variable, np.arange(len(codes)) if numbers is None else numbers
        if variable is not None:
            self._codes[:, variable] = MISSING
        self._parts = list(self._find_parts())
        self.is_in_reach = np.ones(len(codes), dtype=bool)
        for part in self._parts:
            if part.plan is None:
                self.is_in_reach[part.rows] = False

    @classmethod
    def distinct(cls, field: Field, codes: Codes, *, variable: int | None = None) -> tuple[Given, Index]:
        """Return the distinct ones of rows, and which of them each row is."""
        rows, of = distinct_rows(codes)
        numbers = np.empty(len(rows), dtype=np.int64)
        numbers[of[::-1]] = np.arange(len(codes))[::-1]  # the first of the rows that are the same
        return cls(field, rows, variable=variable, numbers=numbers), of

    def at(self, field: Field) -> Given:
        """Return the same rows given another field, which has no other interactions than this one."""
        other = copy.copy(self)
        other._field, other._neighbours = field, Neighbours(field)
        return other

    def log_sums(self) -> Values:
        """Return the logarithm of the sum of exp(-energy) over all states that agree with each row."""
        self._check_rows()
        total = -energies(self._field, self._codes)
        for _, rows, found in self._eliminate("sum"):
            total[rows] += found.total
        return total

    def expect(self, weights: Values) -> tuple[Values, Values]:
        """Return `log_sums`, and the expected products of statistics over weighted rows, (n_slots, n_slots).

        Products of variables that do not interact and are both missing are those of independent variables: where they
        are not, nothing that is asked of a field with these interactions needs to know.

        Parameters
        ----------
        weights : ndarray of shape (n,)
            How much each row counts.
        """
        self._check_rows()
        domain, neighbours = self._field.domain, self._neighbours
        log_sums, means = -energies(self._field, self._codes), domain.indicators(self._codes)
        together = np.zeros((domain.n_slots,) * 2)
        for _, rows, found in self._eliminate("sum"):
            log_sums[rows] += found.total
            own, levels = weights[rows], domain.slot_levels
            for v, separator, law in found.laws():
                at = neighbours.slots(v)
                alone = law.sum(axis=tuple(range(2, law.ndim)))
                means[rows, at] = alone[:, levels[at]]
                for k, u in enumerate(separator):
                    if u in neighbours.of[v]:
                        to = neighbours.slots(u)
                        both = law.sum(axis=tuple(a for a in range(2, law.ndim) if a != k + 2))
                        block = np.tensordot(own, both, 1) - (alone * own[:, None]).T @ both.sum(axis=1)
                        together[at, to] = together[at, to] + block[np.ix_(levels[at], levels[to])]
        total = (means * weights[:, None]).T @ means + together + together.T
        total[domain.slot_variables[:, None] == domain.slot_variables] = 0.0
        np.fill_diagonal(total, weights @ means)
        return log_sums, total

    @property
    def work(self) -> int:
        """How many entries all tables of all rows have."""
        return sum(part.plan.n_entries * len(part.rows) for part in self._parts if part.plan is not None)

    def log_probabilities(self) -> Values:
        """Return the log-probabilities of the levels of the variable that is asked for, (n, levels)."""
        assert self._variable is not None
        self._check_rows()
        logs = np.empty((len(self._codes), self._neighbours.n_levels[self._variable]))
        for _, rows, found in self._eliminate("sum"):
            logs[rows] = log_softmax(found.tables[-1], axis=1)
        return logs

    def draw(self, uniforms: Values) -> Codes:
        """Draw the missing values of rows within reach, with a uniform number for each cell; others are left."""
        filled = self._codes.copy()
        for plan, rows, found in self._eliminate("sum"):
            cells = np.ix_(rows, np.array(plan.order))
            filled[cells] = found.draw(uniforms[cells])
        return filled

    def draw_all(self, n: int, seed: int) -> Codes:
        """Draw the first row so many times, (n, n_variables)."""
        self._check_rows()
        codes, rng = np.repeat(self._codes[:1], n, axis=0), np.random.default_rng(seed)
        for plan, _, found in self._eliminate("sum"):
            codes[:, np.array(plan.order)] = found.draw(rng.random((n, len(plan.order))))
        return codes

    def find_mode(self) -> Codes:
        """Fill the missing values of each row with those that are most probable together."""
        self._check_rows("Finding the most probable values")
        filled = self._codes.copy()
        for plan, rows, found in self._eliminate("max"):
            filled[np.ix_(rows, np.array(plan.order))] = found.find_mode()
        return filled

    def entropy(self) -> float:
        """Return the entropy of the missing values of the first row."""
        self._check_rows()
        return math.fsum(found.entropy() for _, _, found in self._eliminate("sum"))

    def _find_parts(self) -> Iterator[_Part]:
        """Group rows by the components that they miss."""
        variable = self._variable
        incomplete = np.flatnonzero((self._codes == MISSING).any(axis=1))
        if not len(incomplete):
            return
        patterns, of = distinct_rows((self._codes[incomplete] == MISSING).astype(np.uint8))
        order = incomplete[np.argsort(of, kind="stable")]
        ends = np.cumsum(np.bincount(of, minlength=len(patterns)))
        found: dict[tuple[int, ...], list[Index]] = {}
        for pattern, rows in zip(patterns, np.split(order, ends[:-1]), strict=True):
            check_time()
            missing = np.flatnonzero(pattern).tolist()
            if variable is None:
                components = self._neighbours.components(missing)
            else:
                components = [self._neighbours.component(variable, missing)]
            for component in components:
                found.setdefault(component, []).append(rows)
        for component, pieces in found.items():
            check_time()
            plan = make_plan(self._neighbours, component, variable, policy=self._policy)
            yield _Part(plan, np.sort(np.concatenate(pieces)))

    def _check_rows(self, what: str = "Summing over missing values") -> None:
        """Refuse rows that are out of reach."""
        if not self.is_in_reach.all():
            row = int(self.is_in_reach.argmin())
            n_missing = int(np.count_nonzero(self._codes[row] == MISSING)) - (self._variable is not None)
            raise _refuse(what, self._field.domain, int(self._numbers[row]), n_missing)

    def _check_work(self) -> None:
        """Refuse more work than anybody waits for."""
        if self.work > self._policy.most_work:
            raise OutOfReachError(
                f"So many missing values are out of reach: summing over them takes tables of {self.work:.3g} entries "
                f"for all rows together, and {self._policy.most_work:.3g} are allowed. Give fewer rows at a time.",
                reason="missing values out of reach",
                remedy="Give fewer rows at a time.",
            )

    def _eliminate(self, how: Literal["sum", "max"]) -> Iterator[tuple[Plan, Index, Eliminated]]:
        """Sum out the components within reach, for some rows at a time."""
        self._check_work()
        for part in self._parts:
            if part.plan is None:
                continue
            each = max(part.plan.n_entries, self._field.domain.n_slots)
            at_once = max(1, self._policy.entries_at_once // each)
            for start in range(0, len(part.rows), at_once):
                check_time()
                rows = part.rows[start : start + at_once]
                s = self._field.domain.indicators(self._codes[rows])
                reduce = log_sum if how == "sum" else log_max
                yield part.plan, rows, Eliminated(self._neighbours, part.plan, s, reduce)


def _refuse(what: str, domain: Domain, row: int, n_missing: int) -> OutOfReachError:
    """Return the error for a row whose missing values cannot be summed out."""
    remedy = "Leave out rows that miss so many values, or use a sparser field (a larger alpha)."
    return OutOfReachError(
        f"{what} is out of reach: row {row} misses {n_missing} of {domain.n_variables} values, "
        f"which interact so much that it takes tables of more than {MOST_STATES} entries. {remedy}",
        reason="missing values out of reach",
        remedy=remedy,
    )
