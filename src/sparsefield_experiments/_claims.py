"""What the paper claims, and what the numbers say of it, by rules that are written beside the verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sparsefield_experiments._trials import standard_error
from sparsefield_experiments._votes import MANY, ROCKEFELLER

Verdict = Literal["confirmed", "confirmed in part", "open", "refuted"]
Numbers = dict[str, Any]
_SIMILAR, _MOSTLY = 0.02, 0.9  # difference of AUCs, share of iterations
_TIME = (
    "Confirmed: half of the time or less, for a mean AUC no more than 0.02 below; in part: half of the sweeps, but "
    "not of the time; open: where the criterion of TAY is met in fewer than nine of ten iterations, so that a limit "
    "decides."
)
_SIZES = (
    "Confirmed: half of the time or less at every size, for an AUC no more than 0.02 below; in part: at some; open: "
    "where the criterion of TAY is met in fewer than nine of ten iterations."
)
_LOWEST = (
    "Confirmed: lowest mean AUC, by two standard errors of the difference in the same trial; refuted: not, by two."
)
_SWEEPS = "Confirmed: 10^0.5 to 10^1.5, where the criterion is met in nine of ten iterations."
_TIGHT = (
    "Confirmed: within a factor of ten of both the error and the bias, and sometimes below the error; in part: this "
    "holds of the error, but not of the bias."
)
_LOOSE = "Confirmed: at least a hundred times the error."
_COMPARABLE = (
    "Confirmed: mean AUC within 0.02; refuted: not, by two standard errors of the difference in the same trial."
)
_BETTER = "Confirmed: by two standard errors of the difference in the same trial; refuted: worse, by two."
_PARTY = "Confirmed: assortativity above 1/2 in every fit; in part: in the converged ones."
_HEADLINE = (
    "Confirmed: at least five in both converged fits; refuted: fewer than five in both, pairs that noise leaves open "
    "included, and none in most resamples."
)


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
    if "sizes" in numbers:
        claims += [_judge_sizes(numbers["sizes"])]
    if "tightness" in numbers:
        claims += _judge_tightness(numbers["tightness"])
    if "pseudolikelihood" in numbers:
        claims += [claim for size in numbers["pseudolikelihood"]["sizes"] for claim in _judge_pseudo(size)]
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
    seconds, sweeps = (_ratio(tay[key], many[key]) for key in ("seconds_to_goal", "sweeps_to_goal"))
    verdict: Verdict = "refuted"
    if tay["certified"] < _MOSTLY:
        verdict = "open"
    elif difference.mean() >= -_SIMILAR and min(seconds, sweeps) <= 0.5:
        verdict = "confirmed" if seconds <= 0.5 else "confirmed in part"
    evidence = (
        f"AUC at the end {tay['auc']:.3f} (TAY) and {many['auc']:.3f} ({many['method']}); to come within 0.01 of the "
        f"latter TAY takes {seconds:.2f} times the time and {sweeps:.2f} times the sweeps (medians over trials). The "
        f"criterion of TAY is met in {tay['certified']:.0%} of the iterations."
    )
    words = f"TAY reaches the AUC of SPG with a large fixed tau in much less time ({size} nodes)"
    return Claim(f"time-{size}", words, verdict, evidence, _TIME)


def _judge_sizes(numbers: Numbers) -> Claim:
    rows: dict[int, dict[str, Numbers]] = {}
    for row in numbers["methods"]:
        rows.setdefault(row["n_variables"], {})[row["method"]] = row
    seconds = {
        p: _ratio([own["TAY"]["seconds_to_goal"]], [own["SPG, 60 sweeps"]["seconds_to_goal"]])
        for p, own in rows.items()
    }
    lost = max(own["SPG, 60 sweeps"]["auc"] - own["TAY"]["auc"] for own in rows.values())
    certified = min(own["TAY"]["certified"] for own in rows.values())
    verdict: Verdict = "refuted"
    if certified < _MOSTLY:
        verdict = "open"
    elif lost <= _SIMILAR and min(seconds.values()) <= 0.5:
        verdict = "confirmed" if max(seconds.values()) <= 0.5 else "confirmed in part"
    told = ", ".join(f"{ratio:.2f} ({p})" for p, ratio in seconds.items())
    evidence = (
        f"Time of TAY to come within {numbers['settings']['near']:g} of the AUC of SPG with 60 sweeps, as a share of "
        f"the time of that (nodes): {told}. The AUC at the end is at most {max(lost, 0.0):.3f} lower; the criterion is "
        f"met in {certified:.0%} of the iterations or more."
    )
    sizes = f"{min(rows)} to {max(rows)}"
    return Claim(
        "sizes",
        f"TAY takes half the time of a large tau at every size ({sizes} nodes; not the paper's)",
        verdict,
        evidence,
        _SIZES,
    )


def _ratio(first: list[float | None], second: list[float | None]) -> float:
    """Return the median of the ratios in trials; a goal that only the first did not reach counts as infinite."""
    both = [np.inf if a is None else a / b for a, b in zip(first, second, strict=True) if b is not None]
    return float(np.median(both))


def _judge_lowest(rows: dict[str, Numbers], words: str, name: str) -> Claim:
    one = rows["SPG, 1 sweep"]
    others = sorted((row for row in rows.values() if row is not one), key=lambda row: float(row["auc"]))
    difference = np.subtract(one["aucs"], others[0]["aucs"])
    error = float(standard_error(difference))
    verdict = _judge_sign(-float(difference.mean()), error)
    evidence = (
        f"AUC at the end {one['auc']:.3f}; the lowest of the others ({others[0]['method']}) {others[0]['auc']:.3f}; "
        f"difference {difference.mean():+.3f} with standard error {error:.3f}."
    )
    return Claim(name, words, verdict, evidence, _LOWEST)


def _judge_sign(difference: float, error: float) -> Verdict:
    """Say whether a difference is positive, beyond two standard errors."""
    if abs(difference) <= 2 * error:
        return "open"
    return "confirmed" if difference > 0 else "refuted"


def _judge_sweeps(tay: Numbers, size: int) -> Claim:
    is_ten = 10**0.5 <= tay["sweeps_late"] <= 10**1.5
    verdict: Verdict = "confirmed" if is_ten and tay["certified"] >= _MOSTLY else "refuted"
    evidence = (
        f"Median over the second half of the iterations: {tay['sweeps_late']:g} sweeps; the criterion is met in "
        f"{tay['certified']:.0%} of all iterations."
    )
    words = f"TAY needs a tau only on the order of ten ({size} nodes)"
    return Claim(f"sweeps-{size}", words, verdict, evidence, _SWEEPS)


def _judge_tightness(numbers: Numbers) -> Iterator[Claim]:
    error, bias = numbers["over_error"]["paper"], numbers["over_bias"]["paper"]
    near_error, near_bias = 0.1 <= error <= 10 and numbers["paper_below_error"] > 0, bias <= 10
    verdict: Verdict = "refuted"
    if near_error:
        verdict = "confirmed" if near_bias else "confirmed in part"
    evidence = (
        f"The bound is {error:.2g} times the error of the gradient (geometric mean) and below it in "
        f"{numbers['paper_below_error']:.0%} of the iterations. But the error has {numbers['bias_in_error']:.2g} of "
        f"bias in it (median share), the rest is the noise of {numbers['settings']['n_chains']} chains; from the "
        f"worst start, which is what is bounded, the bias is {bias:.3g} times smaller than the bound "
        f"({numbers['over_bias']['sharp']:.3g} times smaller than the sharp one)."
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


def _judge_pseudo(size: Numbers) -> Iterator[Claim]:
    difference, error, n = size["difference"], size["difference_error"], size["n_variables"]
    verdict: Verdict = "confirmed"
    if abs(difference) > _SIMILAR:
        verdict = "refuted" if abs(difference) >= 2 * error else "open"
    evidence = (
        f"AUC {size['tay']:.3f} (TAY) and {size['pseudo']:.3f} (pseudo-likelihood), difference {difference:+.3f} with "
        f"standard error {error:.3f}; each at the best of {size['n_alphas']} penalties, chosen knowing the truth, "
        f"likelihood minus pseudo-likelihood: {size['best_difference']:+.3f} with standard error "
        f"{size['best_difference_error']:.3f}."
    )
    words = f"TAY and the pseudo-likelihood are comparable ({n} nodes)"
    yield Claim(f"pseudo-{n}", words, verdict, evidence, _COMPARABLE)
    words, sign = {10: ("The pseudo-likelihood is slightly better", -1), 20: ("TAY is a little better", 1)}[n]
    yield Claim(f"better-{n}", f"{words} ({n} nodes)", _judge_sign(sign * difference, error), evidence, _BETTER)


def _judge_party(numbers: Numbers) -> Claim:
    # Without links, or with links within one party only, there is no assortativity.
    runs = [run["assortativity"] for run in numbers["as_paper"]]
    known = [value for value in runs if value is not None]
    converged = [numbers["converged"][name]["assortativity"] for name in ("nay", "modelled")]
    verdict: Verdict = "refuted"
    if all(_is_sorted(value) for value in converged):
        verdict = "confirmed" if all(_is_sorted(value) for value in runs) else "confirmed in part"
    shown = f"{min(known):.2f} to {max(known):.2f}" if known else "undefined"
    evidence = (
        f"Assortativity by party (1: links within parties only, 0: as if at random): {_tell(converged[0])} converged "
        f"with nays, {_tell(converged[1])} with missing votes modelled; with the paper's step size {shown} in "
        f"{len(runs)} runs that differ in their seed."
    )
    return Claim("party", "The Senate clusters by party", verdict, evidence, _PARTY)


def _is_sorted(assortativity: float | None) -> bool:
    return assortativity is not None and assortativity > 0.5


def _tell(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _judge_headline(numbers: Numbers) -> Claim:
    fits = [numbers["converged"][name] for name in ("nay", "modelled")]
    links = [fit["rockefeller"] for fit in fits]
    may_be = fits[0].get("rockefeller_may_be", 0)
    resampled = [numbers["resampled"][way]["senators"][ROCKEFELLER]["has_a_link"] for way in ("nay", "modelled")]
    runs = [run["rockefeller"] for run in numbers["as_paper"]]
    verdict: Verdict = "open"
    if all(fit["is_converged"] for fit in fits):
        if min(links) >= MANY:
            verdict = "confirmed"
        elif max(links[0] + may_be, links[1]) < MANY and max(resampled) < 0.5:
            verdict = "refuted"
    evidence = (
        f"With the paper's settings {min(runs)} to {max(runs)} Republican links in {len(runs)} runs that differ in "
        f"their seed; converged {links[0]} with nays (of {may_be} further pairs noise does not exclude it) and "
        f"{links[1]} with missing votes modelled; any at all in {resampled[0]:.0%} and {resampled[1]:.0%} of the "
        "resamples."
    )
    return Claim("headline", "Jay Rockefeller has many links with Republicans", verdict, evidence, _HEADLINE)
