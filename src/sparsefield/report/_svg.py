"""Charts as SVG that follows the width and the theme of the page: lines stretch, texts and dots keep their size.

Lines are in a view box that is stretched, with strokes that are not; dots have their places as shares of the width;
names of ticks are texts of HTML around them. What comes from data is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from sparsefield.report._scales import Scale, as_tick, thin

_UNIT = 1000  # of the view box of lines: a thousandth of the width is less than a pixel on most screens
_GAP = 0.045  # between numbers above a chart, of its width: two digits on a phone


@dataclass(frozen=True)
class Series:
    """A line of a chart.

    Parameters
    ----------
    name : str
        What it is, for the legend; empty for none.
    x, y : sequence of float
        Its points; where y is None or not finite there is none, and the line is cut.
    style : str
        Classes of the style sheet.
    titles : sequence of str, optional
        What is said of each point when a pointer is over it; points have dots then.
    low, high : sequence of float, optional
        The ends of a band around it.
    band_name : str
        What the band is, for the legend.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    style: str
    titles: Sequence[str] | None = None
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    band_name: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart of lines.

    Parameters
    ----------
    key : str
        The id of its element.
    says : str
        What it shows, for those who do not see it.
    x, y : Scale
        The scales.
    x_name, y_name : str
        What is on them.
    series : sequence of Series
        The lines.
    upright, level : sequence of (float, str, str)
        Lines across the whole chart at a value of x or of y: the value, its name, and its classes.
    x_ticks : sequence of float, optional
        The ticks; round values unless given.
    above : sequence of (float, str)
        Numbers above the chart, at values of x.
    above_name : str
        What these are.
    """

    key: str
    says: str
    x: Scale
    y: Scale
    x_name: str
    y_name: str
    series: Sequence[Series]
    upright: Sequence[tuple[float, str, str]] = ()
    level: Sequence[tuple[float, str, str]] = ()
    x_ticks: Sequence[float] | None = None
    above: Sequence[tuple[float, str]] = ()
    above_name: str = ""


def draw(chart: Chart) -> Markup:
    """Return the HTML of a chart, with its legend."""
    x_ticks = list(chart.x.ticks() if chart.x_ticks is None else chart.x_ticks)
    kept = thin(x_ticks, [chart.x.share(value) for value in x_ticks], 2 * _GAP)
    grid = [_line(0, 1 - chart.y.share(value), 1, 1 - chart.y.share(value), "grid") for value in chart.y.ticks()]
    across = [_line(0, 1 - chart.y.share(v), 1, 1 - chart.y.share(v), style) for v, _, style in chart.level]
    across += [_line(chart.x.share(v), 0, chart.x.share(v), 1, style) for v, _, style in chart.upright]
    # The first is drawn last, on top of the others.
    lines = [part for own in reversed(chart.series) for part in _draw_series(chart, own)]
    dots = [dot for own in chart.series for dot in _draw_dots(chart, own)]
    return Markup(
        '<figure class="chart" id="{key}">{legend}<div class="chart-box">'
        '<div class="chart-y-name"><span>{y_name}</span></div><div class="chart-y">{y}</div>'
        '<div class="chart-plot"><div class="chart-above">{above}</div><svg role="img" aria-label="{says}">'
        '<svg viewBox="0 0 {unit} {unit}" preserveAspectRatio="none" width="100%" height="100%">{lines}</svg>'
        "{dots}</svg>"
        '<div class="chart-x">{x}</div><div class="chart-x-name">{x_name}</div></div></div></figure>'
    ).format(
        key=chart.key,
        legend=_legend(chart),
        says=chart.says,
        unit=_UNIT,
        y_name=chart.y_name,
        x_name=chart.x_name,
        y=_write_beside(chart),
        x=_join(_label(as_tick(x_ticks[k]), "left", chart.x.share(x_ticks[k])) for k in kept),
        above=_write_above(chart),
        lines=_join([*grid, *lines, *across]),
        dots=_join(dots),
    )


def _join(parts: object) -> Markup:
    return Markup("").join(parts)  # type: ignore[arg-type]  # escaped, each of them


def _label(text: str, side: str, share: float) -> Markup:
    return Markup('<span style="{}:{:.2f}%">{}</span>').format(side, 100 * share, text)


def _write_beside(chart: Chart) -> Markup:
    """Return the numbers beside the chart, and the longest of them, not seen, which makes room for all."""
    texts = [as_tick(value) for value in chart.y.ticks()]
    room = Markup("<i>{}</i>").format(max([*texts, chart.above_name], key=len))
    return room + _join(_label(t, "top", 1 - chart.y.share(v)) for t, v in zip(texts, chart.y.ticks(), strict=True))


def _write_above(chart: Chart) -> Markup:
    """Return the numbers above the chart, as many as there is room for."""
    if not chart.above:
        return Markup("")
    shares = [chart.x.share(value) for value, _ in chart.above]
    kept = thin([value for value, _ in chart.above], shares, 2 * _GAP)
    name = Markup("<b>{}</b>").format(chart.above_name)
    return name + _join(_label(chart.above[k][1], "left", shares[k]) for k in kept)


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    places = [round(_UNIT * own, 1) for own in (x1, y1, x2, y2)]
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(style, *places)


def _points(chart: Chart, x: Sequence[float], y: Sequence[float]) -> str:
    return " ".join(
        f"{_UNIT * chart.x.share(u):.1f},{_UNIT * (1 - chart.y.share(v)):.1f}" for u, v in zip(x, y, strict=True)
    )


def _draw_series(chart: Chart, own: Series) -> list[Markup]:
    """Return the band and the line of a series, cut where a value is not known."""
    drawn = []
    if own.low is not None and own.high is not None:
        ends = [row for row in zip(own.x, own.low, own.high, strict=True) if all(map(math.isfinite, row))]
        x, low, high = ([row[k] for row in ends] for k in range(3))
        drawn.append(
            Markup('<polygon class="band {}" points="{}"/>').format(
                own.style, _points(chart, [*x, *reversed(x)], [*low, *reversed(high)])
            )
        )
    for part in _cut(own):
        points = _points(chart, [own.x[k] for k in part], [own.y[k] for k in part])  # type: ignore[misc]  # known
        drawn.append(Markup('<polyline class="{}" points="{}"/>').format(own.style, points))
    return drawn


def _cut(own: Series) -> list[list[int]]:
    """Return runs of points that are known."""
    runs: list[list[int]] = [[]]
    for k, value in enumerate(own.y):
        if value is None or not math.isfinite(value):
            runs.append([])
        else:
            runs[-1].append(k)
    return [run for run in runs if len(run) > 1]


def _draw_dots(chart: Chart, own: Series) -> list[Markup]:
    """Return a dot for each point, which says what it is; a larger one that is not seen makes it easy to hit."""
    if own.titles is None:
        return []
    circles = '<circle class="near" cx="{x}" cy="{y}" r="10"/><circle cx="{x}" cy="{y}" r="3.5"/>'
    form = Markup('<g class="dot {style}">' + circles + "<title>{title}</title></g>")
    return [
        form.format(style=own.style, title=title, x=_percent(chart.x.share(u)), y=_percent(1 - chart.y.share(v)))
        for u, v, title in zip(own.x, own.y, own.titles, strict=True)
        if v is not None and math.isfinite(v)
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _legend(chart: Chart) -> Markup:
    """Return what each kind of line is."""
    named = [(own.name, f"key {own.style}") for own in chart.series if own.name]
    named += [(own.band_name, f"key key-band {own.style}") for own in chart.series if own.band_name]
    named += [(name, f"key {style}") for _, name, style in (*chart.level, *chart.upright) if name]
    line = Markup('<line x1="0" y1="5" x2="22" y2="5"/>')
    items = _join(
        Markup('<li><svg class="{}" viewBox="0 0 22 10" aria-hidden="true">{}</svg>{}</li>').format(style, line, name)
        for name, style in named
    )
    return Markup('<ul class="legend">{}</ul>').format(items) if named else Markup("")
