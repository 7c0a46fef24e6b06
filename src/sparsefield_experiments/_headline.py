"""The paper's headline, checked: that Jay Rockefeller, a Democrat, has many links with Republicans."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import sparsefield as sf
from sparsefield._typing import Matrix
from sparsefield.estimators import SparseMRF
from sparsefield.fits import Fit, GradientStep
from sparsefield.gradients import Fixed, PerfectDraws, Simulation
from sparsefield.learning import certify
from sparsefield.model import PairwiseMRF, as_theta
from sparsefield_experiments import _headline_figures as figures
from sparsefield_experiments._record import Record
from sparsefield_experiments._senate import describe_links, describe_steps, fit_as_paper
from sparsefield_experiments._trials import check_ended, follow
from sparsefield_experiments._votes import ALPHA, MANY, N_CHAINS, NELSON, ROCKEFELLER, Votes, load_votes

_SHORT_SWEEPS = 3  # an iteration, of chains that go on, where steps are short
_STAY_DRAWS = (100_000, N_CHAINS)
_RESAMPLE_GAP = 0.02
Missing = Literal["zero", "model"]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """How much to run.

    Parameters
    ----------
    n_seeds : int
        Runs with the paper's settings.
    limits : tuple of int
        Sweeps after which TAY goes on where its criterion is not met; pictures and tables are about the first.
    n_short : int
        Iterations with short steps.
    n_stay : int
        Further ones from the optimum.
    gap : float
        How near to the optimum the Newton fits should be.
    n_draws : int
        Draws behind their certificates.
    n_resamples : int
        Resamples of the roll calls.
    """

    n_seeds: int
    limits: tuple[int, ...]
    n_short: int
    n_stay: int
    gap: float
    n_draws: int
    n_resamples: int


_FULL = Size(n_seeds=10, limits=(100, 30, 10), n_short=3000, n_stay=50, gap=0.002, n_draws=500_000, n_resamples=100)
_QUICK = Size(n_seeds=2, limits=(10,), n_short=100, n_stay=5, gap=0.02, n_draws=100_000, n_resamples=4)


def run_headline(record: Record) -> None:
    """Fit as the paper did, to convergence, with missing votes modelled, and to resampled roll calls."""
    votes, size = load_votes(), _QUICK if record.quick else _FULL
    as_paper = {}
    for k, limit in enumerate(size.limits):
        share = 0.3 / len(size.limits)
        as_paper[limit] = _run_as_paper(votes, size.n_seeds, limit, _within(record.tell, k * share, (k + 1) * share))
    runs, paths = as_paper[size.limits[0]]
    short, step_size = _run_short(votes, size, _within(record.tell, 0.3, 0.35))
    fits = {"nay": _fit(votes, "zero", size, seed=1)}
    record.tell(0.45)
    fits["modelled"] = _fit(votes, "model", size, seed=1)
    record.tell(0.5)
    stay = _stay(votes, fits["nay"], step_size, size)
    resampled = {
        "nay": _resample(votes, "zero", size, _within(record.tell, 0.5, 0.75)),
        "modelled": _resample(votes, "model", size, _within(record.tell, 0.75, 1.0)),
    }
    shares = {way: found.mean(axis=0) for way, (found, _) in resampled.items()}
    links = _list_links(votes, fits, shares)
    models = {
        "(a) as in the paper": runs[0].model,
        "(b) converged, nays": fits["nay"].model,
        "(c) converged, missing votes modelled": fits["modelled"].model,
    }
    figures.draw_networks(record, votes, models)
    figures.draw_paths(record, votes, paths, short, fits)
    figures.draw_missed(record, votes)
    figures.draw_links(record, links)
    record.tabulate(links, "headline-links")
    record.tabulate(_list_senators(votes, paths, fits, shares), "headline-senators")
    numbers = {
        "settings": {"alpha": ALPHA, "n_chains": N_CHAINS, "many": MANY, **asdict(size)},
        "missed": {name: int(n) for name, n in zip(votes.names, votes.table.n_missing, strict=True)},
        "as_paper": [{**describe_links(votes, run.model), **describe_steps(run.steps)} for run in runs],
        "as_paper_links": {limit: _count_links(votes, own[1]) for limit, own in as_paper.items()},
        "short": {"n_iter": size.n_short, "step_size": step_size, **_count_two(votes, short[-1])},
        "stay": stay,
        "converged": {name: _describe_fit(votes, fit) for name, fit in fits.items()},
        "resampled": {way: {**_describe_resamples(votes, own[0]), **own[1]} for way, own in resampled.items()},
    }
    record.state(numbers, "headline")


def _within(tell: Callable[[float], None], start: float, end: float) -> Callable[[float], None]:
    return lambda share: tell(start + share * (end - start))


@dataclass(frozen=True, eq=False)
class _PaperRun:
    """A field fitted with the paper's settings, and what its iterations say."""

    model: PairwiseMRF
    steps: list[GradientStep]


def _run_as_paper(
    votes: Votes, n_seeds: int, max_sweeps: int, tell: Callable[[float], None]
) -> tuple[list[_PaperRun], Counts]:
    """Run the paper's settings for several seeds; also return the links across parties after each iteration."""
    runs, paths = [], []
    for seed in range(1, n_seeds + 1):
        tell((seed - 1) / n_seeds)
        model, steps, thetas = fit_as_paper(votes, seed=seed, max_sweeps=max_sweeps)
        runs.append(_PaperRun(model, steps))
        paths.append([votes.links_across(theta) for theta in thetas])
    return runs, np.array(paths)  # (seeds, iterations, senators)


def _run_short(votes: Votes, size: Size, tell: Callable[[float], None]) -> tuple[Counts, float]:
    """Make the paper's steps no longer than 1 / L; return the links across parties after each, and the last length."""
    simulation = Simulation(N_CHAINS, 1, persist=True)
    found, lengths = [], []
    for _, info, theta in follow(votes.problem, Fixed(_SHORT_SWEEPS), simulation, size.n_short, step_size="auto"):
        found.append(votes.links_across(theta))
        lengths.append(info.step_size)
        tell(len(found) / size.n_short)
    return np.array(found), lengths[-1]


def _stay(votes: Votes, fit: Fit, step_size: float, size: Size) -> list[dict[str, Any]]:
    """Make short steps from a converged fit, on many exact draws and on fewer, and say how far they lead."""
    start = as_theta(fit.model)
    rows = []
    for n_draws in _STAY_DRAWS:
        steps = follow(votes.problem, PerfectDraws(), Simulation(n_draws, 2), size.n_stay, step_size, start)
        *_, (_, _, end) = steps
        links = _count_two(votes, votes.links_across(end))
        rows.append({"n_iter": size.n_stay, "n_draws": n_draws, "moved": float(np.abs(end - start).max()), **links})
    return rows


def _count_two(votes: Votes, links: Counts) -> dict[str, int]:
    return {name: int(links[votes.names.index(name)]) for name in (ROCKEFELLER, NELSON)}


def _fit(votes: Votes, missing: Missing, size: Size, *, seed: int) -> Fit:
    """Fit to convergence by Newton steps on exact draws, and certify."""
    # The chains that fill missing votes limit how near one gets: many of them, and no closer than that.
    gap = size.gap if missing == "zero" else max(size.gap, 0.01)
    mrf = SparseMRF(
        ALPHA,
        penalize_main=True,
        gap=gap,
        solver=sf.Newton(n_chains=30_000),
        missing=missing,
        random_state=seed,
        progress=False,
    ).fit(votes.table)
    check_ended(mrf.fit_)
    return certify(mrf.fit_, votes.table, n_draws=size.n_draws, seed=seed)


def _resample(
    votes: Votes, missing: Missing, size: Size, tell: Callable[[float], None]
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Draw roll calls with replacement and fit, many times.

    Returns which links across parties are positive (resamples, senators, senators), and how the fits ended.
    """
    rng = np.random.default_rng(1)
    found, fits = [], []
    for k in range(size.n_resamples):
        tell(k / size.n_resamples)
        rows = rng.integers(0, votes.table.n_rows, votes.table.n_rows)
        table = votes.table[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # counted instead
            mrf = SparseMRF(
                ALPHA, penalize_main=True, gap=_RESAMPLE_GAP, missing=missing, random_state=k, progress=False
            ).fit(table)
        check_ended(mrf.fit_)
        fits.append(mrf.fit_)
        found.append((mrf.interactions_ > 0) & votes.is_across)
    # Where the model fills missing votes gradients have no certificate.
    certified = sum(fit.steps[-1].is_certified for fit in fits) if missing == "zero" else None
    n_converged = sum(fit.status.code in ("converged", "simulation_error") for fit in fits)
    return np.array(found), {"gap": _RESAMPLE_GAP, "n_converged": n_converged, "n_certified": certified}


def _list_links(votes: Votes, fits: dict[str, Fit], shares: dict[str, Matrix]) -> pl.DataFrame:
    """List the links across parties that any resample or fit has, the most frequent first, with nays or modelled."""
    any_ = (shares["nay"] > 0) | (shares["modelled"] > 0)
    for fit in fits.values():
        any_ |= (fit.model.interactions > 0) & votes.is_across
    rows = []
    for i, j in np.argwhere(np.triu(any_)):
        a, b = sorted((votes.names[i], votes.names[j]), key=lambda name: votes.party[name])
        row = {"democrat": a, "republican": b, "resamples_nay": shares["nay"][i, j]}
        row |= {"resamples_modelled": shares["modelled"][i, j]}
        rows.append(row | {f"weight_{name}": fit.model.interactions[i, j] for name, fit in fits.items()})
    schema = ["democrat", "republican", "resamples_nay", "resamples_modelled", "weight_nay", "weight_modelled"]
    frame = pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)
    return frame.sort(pl.max_horizontal("resamples_nay", "resamples_modelled"), descending=True, maintain_order=True)


def _list_senators(votes: Votes, paths: Counts, fits: dict[str, Fit], shares: dict[str, Matrix]) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "senator": list(votes.names),
        "party": [votes.party[name] for name in votes.names],
        "missed": votes.table.n_missing,
        "across_as_paper_mean": paths[:, -1].mean(axis=0),
        "across_as_paper_least": paths[:, -1].min(axis=0),
        "across_as_paper_most": paths[:, -1].max(axis=0),
    }
    columns |= {f"across_{name}": votes.links_across(fit.model.interactions) for name, fit in fits.items()}
    columns |= {f"across_resamples_{name}": share.sum(axis=1) for name, share in shares.items()}
    return pl.DataFrame(columns)


def _count_links(votes: Votes, paths: Counts) -> dict[str, Any]:
    """Say of two Democrats in how many runs they have many Republican links at the end, and the most of all.

    Also in which share of the later half of the iterations they have most. Ties count for both.
    """
    is_democrat = np.array([votes.party[name] == "D" for name in votes.names])
    most = paths[:, :, is_democrat].max(axis=2)
    half = paths.shape[1] // 2
    found = {}
    for name in (ROCKEFELLER, NELSON):
        own = paths[:, :, votes.names.index(name)]
        leads = (own == most) & (own > 0)
        found[name] = {
            "many": int((own[:, -1] >= MANY).sum()),
            "leads": int(leads[:, -1].sum()),
            "leads_late": float(leads[:, half:].mean()),
        }
    return found


def _describe_fit(votes: Votes, fit: Fit) -> dict[str, Any]:
    """Return the links of a fit, which of them noise leaves open, and its certificates."""
    found = describe_links(votes, fit.model)
    if fit.undecided is not None:
        is_open, is_link = fit.undecided & votes.is_across, fit.model.interactions > 0
        found["across_undecided"] = int((is_open & is_link).sum()) // 2
        found["across_may_be"] = int((is_open & ~is_link).sum()) // 2
        found["rockefeller_may_be"] = int((is_open & ~is_link)[votes.names.index(ROCKEFELLER)].sum())
    assert fit.optimality is not None
    last = fit.steps[-1]
    return found | {
        "status": str(fit.status),
        "is_converged": fit.status.code in ("converged", "simulation_error"),
        "bias": last.certificate,
        "reason": last.reason,
        "optimality": str(fit.optimality),
        "gap": fit.optimality.gap if np.isfinite(fit.optimality.gap) else None,
        "slope": fit.optimality.subgradient if np.isfinite(fit.optimality.subgradient) else None,
    }


def _describe_resamples(votes: Votes, found: NDArray[np.bool_]) -> dict[str, Any]:
    links = found.sum(axis=2)  # (resamples, senators)
    is_democrat = np.array([votes.party[name] == "D" for name in votes.names])
    most = links[:, is_democrat].max(axis=1)
    shares = found.mean(axis=0)
    return {
        "n": len(found),
        "in_90_percent": int((np.triu(shares) >= 0.9).sum()),
        "in_half": int((np.triu(shares) >= 0.5).sum()),
        "ever": int((np.triu(shares) > 0).sum()),
        "senators": {
            name: {
                "mean": float(own.mean()),
                "low": float(np.quantile(own, 0.05)),
                "high": float(np.quantile(own, 0.95)),
                "leads": float(((own == most) & (own > 0)).mean()),
                "has_a_link": float((own > 0).mean()),
            }
            for name in (ROCKEFELLER, NELSON)
            for own in (links[:, votes.names.index(name)],)
        },
    }
