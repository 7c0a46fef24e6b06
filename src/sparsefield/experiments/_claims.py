"""What the paper claims, and what the numbers say of it, by rules that are written beside the verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sparsefield.experiments._votes import ROCKEFELLER

Verdict = Literal["confirmed", "confirmed in part", "open", "refuted"]
Numbers = dict[str, Any]
_TIME = "Similar: mean AUC within 0.02. Much less: half of the time; in part: half of the sweeps, but not of the time."
_LOWEST = "Confirmed: lowest mean AUC, by two standard errors of the difference in the same trial; open: by less."
_SWEEPS = "Of order ten: 10^0.5 to 10^1.5, where the criterion is met in nine of ten iterations."
_TIGHT = "Close: within a factor of ten of both the error and the bias; in part: of the error alone."
_LOOSE = "Loose: at least a hundred times the error."
_COMPARABLE = "Comparable: mean AUC within 0.02, or within two standard errors of the difference in the same trial."
_PARTY = "Confirmed: assortativity above 1/2 in every fit; in part: in the converged ones."
_HEADLINE = "Confirmed: at least five in both converged fits; refuted: none in either, nor in most resamples."


@dataclass(frozen=True)
class Claim:
    """A claim, the verdict on it, and the numbers behind the verdict.

    Parameters
    ----------
    name : str
        A few words, for programs.
    words : str
        The claim.
    verdict : str
        What the numbers say.
    evidence : str
        The numbers, in a sentence.
    rule : str
        How the verdict follows from the numbers.
    """

    name: str
    words: str
    verdict: Verdict
    evidence: str
    rule: str


def judge(numbers: dict[str, Numbers]) -> list[Claim]:
    """Return the claims on which there are numbers: those of the experiments that were run."""
    claims: list[Claim] = []
    for size in (10, 20):
        if f"structure-{size}" in numbers:
            claims += _judge_structure(numbers[f"structure-{size}"], size)
    if "tightness" in numbers:
        claims += _judge_tightness(numbers["tightness"])
    if "pseudolikelihood" in numbers:
        claims += [_judge_pseudo(size) for size in numbers["pseudolikelihood"]["sizes"]]
    if "headline" in numbers:
        claims += [_judge_party(numbers["headline"]), _judge_headline(numbers["headline"])]
    return claims


def find_rows(numbers: Numbers, chains: str) -> dict[str, Numbers]:
    """Return the numbers of the methods of a group at the penalty of the main text, by name."""
    alpha = numbers["settings"]["alphas"][0]
    return {row["method"]: row for row in numbers["methods"] if row["chains"] == chains and row["alpha"] == alpha}


def _judge_structure(numbers: Numbers, size: int) -> Iterator[Claim]:
    many = f"SPG, {numbers['settings']['n_many']} sweeps"
    rows = find_rows(numbers, "restart")
    yield _judge_time(rows["TAY"], rows[many], size)
    yield _judge_lowest(rows, f"SPG with one sweep ends lowest ({size} nodes)", f"lowest-{size}")
    persistent = find_rows(numbers, "persistent")
    words = f"SPG with one sweep also ends lowest if chains go on between iterations ({size} nodes; not the paper's)"
    yield _judge_lowest(persistent, words, f"lowest-persistent-{size}")
    yield _judge_sweeps(rows["TAY"], size)


def _judge_time(tay: Numbers, many: Numbers, size: int) -> Claim:
    difference = np.subtract(tay["aucs"], many["aucs"])
    is_similar = abs(difference.mean()) <= 0.02
    seconds, sweeps = (_ratio(tay[key], many[key]) for key in ("seconds_to_goal", "sweeps_to_goal"))
    verdict: Verdict = "refuted"
    if is_similar and sweeps <= 0.5:
        verdict = "confirmed" if seconds <= 0.5 else "confirmed in part"
    evidence = (
        f"AUC at the end {tay['auc']:.3f} (TAY) and {many['auc']:.3f} ({many['method']}); to come within 0.01 of the "
        f"latter TAY takes {seconds:.2f} times the time and {sweeps:.2f} times the sweeps (medians over trials)."
    )
    words = f"TAY reaches the AUC of SPG with a large fixed tau in much less time ({size} nodes)"
    return Claim(f"time-{size}", words, verdict, evidence, _TIME)


def _ratio(first: list[float | None], second: list[float | None]) -> float:
    """Return the median of the ratios in trials; a goal that only the first did not reach counts as infinite."""
    both = [np.inf if a is None else a / b for a, b in zip(first, second, strict=True) if b is not None]
    return float(np.median(both))


def _judge_lowest(rows: dict[str, Numbers], words: str, name: str) -> Claim:
    one = rows["SPG, 1 sweep"]
    others = sorted((row for row in rows.values() if row is not one), key=lambda row: float(row["auc"]))
    difference = np.subtract(one["aucs"], others[0]["aucs"])
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    verdict: Verdict = "refuted"
    if difference.mean() < 0:
        verdict = "confirmed" if difference.mean() <= -2 * error else "open"
    evidence = (
        f"AUC at the end {one['auc']:.3f}; the lowest of the others ({others[0]['method']}) {others[0]['auc']:.3f}; "
        f"difference {difference.mean():+.3f} with standard error {error:.3f}."
    )
    return Claim(name, words, verdict, evidence, _LOWEST)


def _judge_sweeps(tay: Numbers, size: int) -> Claim:
    is_ten = 10**0.5 <= tay["sweeps_late"] <= 10**1.5
    verdict: Verdict = "confirmed" if is_ten and tay["certified"] >= 0.9 else "refuted"
    evidence = (
        f"Median over the second half of the iterations: {tay['sweeps_late']:g} sweeps; the criterion is met in "
        f"{tay['certified']:.0%} of all iterations (otherwise 100 sweeps are made)."
    )
    words = f"TAY needs a tau only on the order of ten ({size} nodes)"
    return Claim(f"sweeps-{size}", words, verdict, evidence, _SWEEPS)


def _judge_tightness(numbers: Numbers) -> Iterator[Claim]:
    error, bias = numbers["over_error"]["paper"], numbers["over_bias"]["paper"]
    near_error, near_bias = 0.1 <= error <= 10, bias <= 10
    verdict: Verdict = "refuted"
    if near_error:
        verdict = "confirmed" if near_bias else "confirmed in part"
    evidence = (
        f"The bound is {error:.2g} times the error of the gradient (geometric mean) and below it in "
        f"{numbers['paper_below_error']:.0%} of the iterations. But that error is the noise of "
        f"{numbers['settings']['n_chains']} chains: the bias, which is what is bounded, is {bias:.3g} times smaller "
        f"than "
        f"the bound (the sharp bound: {numbers['over_bias']['sharp']:.3g} times)."
    )
    words = "The bound is close to, and even slightly less than, the real error"
    yield Claim("tight", words, verdict, evidence, _TIGHT)
    fischer = numbers["over_error"]["fischer"]
    evidence = (
        f"Fischer's bound is {fischer:.3g} times the error. To be as low as the paper's bound it would need "
        f"{numbers['fischer_sweeps']:.2g} sweeps (median; the paper says thousands)."
    )
    loose: Verdict = "confirmed" if fischer >= 100 else "refuted"
    yield Claim("fischer", "Fischer's bound is extraordinarily loose", loose, evidence, _LOOSE)


def _judge_pseudo(size: Numbers) -> Claim:
    difference, error = size["difference"], size["difference_error"]
    is_comparable = abs(difference) <= max(0.02, 2 * error)
    evidence = (
        f"AUC {size['tay']:.3f} (TAY) and {size['pseudo']:.3f} (pseudo-likelihood), difference {difference:+.3f} with "
        f"standard error {error:.3f}; each at its best penalty, likelihood minus pseudo-likelihood: "
        f"{size['best_difference']:+.3f} with standard error {size['best_difference_error']:.3f}."
    )
    words = f"TAY and the pseudo-likelihood are comparable ({size['n_variables']} nodes)"
    verdict: Verdict = "confirmed" if is_comparable else "refuted"
    return Claim(f"pseudo-{size['n_variables']}", words, verdict, evidence, _COMPARABLE)


def _judge_party(numbers: Numbers) -> Claim:
    runs = [run["assortativity"] for run in numbers["as_paper"] if run["assortativity"] is not None]
    converged = [numbers["converged"][name]["assortativity"] for name in ("nay", "modelled")]
    verdict: Verdict = "refuted"
    if min(converged) > 0.5:
        verdict = "confirmed" if min(runs) > 0.5 else "confirmed in part"
    evidence = (
        f"Assortativity by party (1: links within parties only, 0: as by chance): {converged[0]:.2f} converged with "
        f"nays, {converged[1]:.2f} with holes modelled; with the paper's step size {min(runs):.2f} to "
        f"{max(runs):.2f} in "
        f"{len(runs)} runs that differ in their seed."
    )
    return Claim("party", "The Senate clusters by party", verdict, evidence, _PARTY)


def _judge_headline(numbers: Numbers) -> Claim:
    converged = [numbers["converged"][name]["rockefeller"] for name in ("nay", "modelled")]
    resampled = [numbers["resampled"][way]["senators"][ROCKEFELLER]["has_a_link"] for way in ("nay", "modelled")]
    runs = [run["rockefeller"] for run in numbers["as_paper"]]
    verdict: Verdict = "open"
    if min(converged) >= 5:
        verdict = "confirmed"
    elif max(converged) == 0 and max(resampled) < 0.5:
        verdict = "refuted"
    evidence = (
        f"With the paper's settings {min(runs)} to {max(runs)} Republican links, depending on the seed ({len(runs)} "
        f"runs); converged {converged[0]} with nays and {converged[1]} with holes modelled; any at all in "
        f"{resampled[0]:.0%} and {resampled[1]:.0%} of the resamples."
    )
    return Claim("headline", "Jay Rockefeller has many links with Republicans", verdict, evidence, _HEADLINE)
