"""The charts of the page: the trace, the criterion and the weights along a path, intervals of edges, stability."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from sparsefield._rounding import at_most
from sparsefield.fits import Fit
from sparsefield.plotting import ChoiceDisplay, StabilityDisplay, as_percent
from sparsefield.report._counting import as_name, count_of
from sparsefield.report._scales import Scale, as_tick, make_scale
from sparsefield.report._svg import Chart, Series, draw
from sparsefield.resampling import Stability
from sparsefield.selection import Choice, PathWeights

_MOST_LINES = 200  # of the weights along a path: the strongest, which is as many as a screen can tell apart
_COLORED = 6  # lines of these that have colours of their own, and names in the legend
_SWEEPS_APART = 12  # numbers of sweeps above a trace, at most


def draw_trace(fit: Fit) -> Markup | None:
    """Draw what happened in each iteration, on a scale of powers, which has no zeros; None where there is nothing."""
    steps = fit.steps
    x = [step.iteration for step in steps]
    bounds = ["" if step.certificate is None else at_most(step.certificate) for step in steps]
    columns: list[tuple[str, str, list[float | None], str | None]] = [
        ("penalised gradient", "line-1", [step.violation for step in steps], "{:.3g}"),
        ("its simulation error", "line-4 dotted", [step.simulation_error_norm for step in steps], "{:.3g}"),
        # Rounded up, as bounds are.
        ("certificate: its bias is at most", "line-2", [step.certificate for step in steps], None),
    ]
    series = []
    for name, style, values, form in columns:
        own = _positive(values)
        if any(value is not None for value in own):
            said = bounds if form is None else ["" if value is None else form.format(value) for value in own]
            titles = [f"iteration {k}, {name}: {text}" for k, text in zip(x, said, strict=True)]
            series.append(Series(name, x, own, style, titles))
    if not series:
        return None
    every = max(1, -(-len(steps) // _SWEEPS_APART))
    has_sweeps = any(step.n_sweeps for step in steps)
    return draw(
        Chart(
            "trace",
            "The penalised gradient, its simulation error and its certificate in each iteration",
            Scale(x[0] - 0.5, x[-1] + 0.5),
            make_scale([value for own in series for value in own.y], is_log=True),
            "iteration",
            "L2 norm",
            series,
            x_ticks=[tick for tick in Scale(x[0] - 0.5, x[-1] + 0.5).ticks(10) if tick == int(tick)],
            above=[(step.iteration, f"{step.n_sweeps:,.3g}") for step in steps[::every]] if has_sweeps else (),
            above_name="sweeps",
        )
    )


def _positive(values: Iterable[float | None]) -> list[float | None]:
    return [value if value is not None and value > 0 else None for value in values]


def draw_choice(choice: Choice) -> Markup:
    """Draw the criterion of each penalty but zero, which is not on a scale of powers."""
    display, is_shown = ChoiceDisplay.from_choice(choice), choice.table["alpha"] > 0
    table = choice.table.filter(is_shown)
    alphas, values = table["alpha"].to_list(), table[choice.criterion].to_list()
    errors = None if display.errors is None else display.errors.filter(is_shown).to_list()
    low = None if errors is None else [value - error for value, error in zip(values, errors, strict=True)]
    high = None if errors is None else [value + error for value, error in zip(values, errors, strict=True)]
    said = [
        f"alpha = {alpha:.3g}: {value:.6g}, {count_of(n, 'edge')}"
        for alpha, value, n in zip(alphas, values, table["edges"], strict=True)
    ]
    band = "" if errors is None else display.error_name
    line = Series(display.value_name, alphas, values, "line-1", said, low, high, band)
    level = () if choice.threshold is None else ((choice.threshold, display.threshold_name or "", "line-2 dashed"),)
    ends = [*values, *(low or ()), *(high or ()), *(() if choice.threshold is None else (choice.threshold,))]
    return draw(
        Chart(
            "choice-plot",
            f"{display.value_name} of each penalty",
            make_scale(alphas, is_log=True, down=True),
            make_scale(ends),
            "alpha (smaller to the right)",
            display.value_name,
            [line],
            upright=_mark_chosen(choice.alpha),
            level=level,
            above=list(zip(alphas, map(str, table["edges"]), strict=True)),
            above_name="edges",
        )
    )


def _mark_chosen(alpha: float | None) -> Sequence[tuple[float, str, str]]:
    return ((alpha, f"chosen: {alpha:.3g}", "line-ink dotted"),) if alpha else ()


def draw_path(path: PathWeights, chosen: float | None) -> Markup | None:
    """Draw the weights along a path, the strongest at its end in colours; None where there is nothing to draw."""
    is_shown = np.array(path.alphas) > 0
    alphas, values = np.array(path.alphas)[is_shown], path.values[is_shown]
    if len(alphas) < 2 or not values.any():
        return None
    order = np.argsort(-np.abs(values[-1]), kind="stable")[:_MOST_LINES]
    names = [" \N{EN DASH} ".join(as_name(path.names[i]) for i in path.pairs[k]) for k in order]
    series = [
        Series(
            name if place < _COLORED else "",
            alphas.tolist(),
            values[:, k].tolist(),
            f"line-{place + 1}" if place < _COLORED else "line-other",
            [f"{name}, alpha = {alpha:.3g}: {value:.3g}" for alpha, value in zip(alphas, values[:, k], strict=True)]
            if place < _COLORED
            else None,
        )
        for place, (k, name) in enumerate(zip(order, names, strict=True))
    ]
    n_edges = np.count_nonzero(values, axis=1)
    return draw(
        Chart(
            "path-plot",
            "The weights of edges along the path of penalties",
            make_scale(alphas.tolist(), is_log=True, down=True),
            make_scale([0.0, *values[:, order].min(axis=1).tolist(), *values[:, order].max(axis=1).tolist()]),
            "alpha (smaller to the right)",
            "weight",
            series,
            upright=_mark_chosen(chosen),
            above=list(zip(alphas.tolist(), map(str, n_edges.tolist()), strict=True)),
            above_name="edges",
        )
    )


def draw_stability(stability: Stability) -> Markup:
    """Draw correlations of fits of fewer rows with the fit of all rows."""
    display = StabilityDisplay.from_stability(stability)
    shares = display.shares.tolist()
    series = [
        Series(
            f"{curve.name} (CS coefficient {curve.coefficient:.3g})",
            shares,
            curve.mean.tolist(),
            f"line-{place + 1}",
            [
                f"{share:.4g} of the rows, {curve.name}: {mean:.3g}"
                for share, mean in zip(shares, curve.mean, strict=True)
            ],
            curve.low.tolist(),
            curve.high.tolist(),
        )
        for place, curve in enumerate(display.curves)
    ]
    ends = [value for own in series for value in (*(own.low or ()), *(own.high or ()))]
    reached = f"{display.reached:g}: what CS coefficients ask for"
    return draw(
        Chart(
            "stability-plot",
            "Correlation with the fit of all rows for each share of rows kept",
            make_scale(shares, down=True, margin=0.06),
            make_scale([0.0, 1.0, *ends]),
            "share of the rows kept",
            "correlation with the fit of all rows",
            series,
            level=((display.reached, reached, "line-ink dashed"),),
            x_ticks=shares,
        )
    )


@dataclass(frozen=True)
class Interval:
    """What is known of the weight of an edge.

    Parameters
    ----------
    first, second : str
        The variables.
    value : float
        The estimate of its weight; the weight in the fit where there is no interval.
    is_signed : bool
        Whether the weight has a sign.
    low, high : float or None
        The ends of its interval.
    level, q : str
        The level of the interval, and the q-value.
    share : float or None
        In which share of the resamples it is found.
    """

    first: str
    second: str
    value: float
    is_signed: bool
    low: float | None = None
    high: float | None = None
    level: str = ""
    q: str = ""
    share: float | None = None

    @property
    def title(self) -> str:
        """What is said of it when a pointer is over it."""
        said = f"{self.first} \N{EN DASH} {self.second}: {self.value:.3g}"
        if self.low is not None and self.high is not None:
            said += (
                f" ({self.level} interval {self.low:.3g} to {self.high:.3g}), q {'' if '<' in self.q else '= '}{self.q}"
            )
        return said if self.share is None else f"{said}, found in {as_percent(self.share)} of resamples"


def place_intervals(rows: Sequence[Interval]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return where the weight and the interval of each edge are, as shares of a scale with zero, and its ticks."""
    scale = make_scale([0.0, *(value for row in rows for value in (row.value, row.low, row.high))])

    def at(value: float) -> str:
        return f"{100 * scale.share(value):.2f}%"

    def place(row: Interval) -> dict[str, Any]:
        found = {"first": row.first, "second": row.second, "title": row.title, "q": row.q, "low": None}
        found |= {
            "zero": at(0.0),
            "weight": at(row.value),
            "found": None if row.share is None else as_percent(row.share),
        }
        if row.low is not None and row.high is not None:
            found |= {"low": at(row.low), "width": f"{100 * (scale.share(row.high) - scale.share(row.low)):.2f}%"}
        sign = "positive" if row.value > 0 else "negative"
        return found | {"sign": sign if row.is_signed else "unsigned"}

    return [place(row) for row in rows], [(at(tick), as_tick(tick)) for tick in scale.ticks(5)]
