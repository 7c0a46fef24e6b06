"""Verdicts follow the numbers."""

import numpy as np

from sparsefield_experiments._claims import judge
from sparsefield_experiments._votes import ROCKEFELLER


def structure(tay_auc, tay_seconds, one_auc, sweeps_late=8.0, certified=1.0):
    def row(method, auc, seconds, **more):
        wiggle = 0.001 * np.sin(100 * len(method))  # differs between methods, so that differences vary
        aucs = [auc - wiggle, auc, auc + wiggle]
        goals = {"seconds_to_goal": [seconds] * 3, "sweeps_to_goal": [seconds] * 3}
        return {"method": method, "chains": "restart", "alpha": 0.1, "auc": auc, "aucs": aucs} | goals | more

    rows = [
        row("TAY", tay_auc, tay_seconds, sweeps_late=sweeps_late, certified=certified),
        row("SPG, 30 sweeps", 0.9, 1.0),
        row("SPG, 1 sweep", one_auc, 1.0),
        row("SPG-Inc", 0.9, 1.0),
    ]
    methods = rows + [own | {"chains": "persistent"} for own in rows]
    return {"structure-10": {"settings": {"alphas": [0.1], "n_many": 30}, "methods": methods}}


def verdicts(numbers):
    return {claim.name: claim.verdict for claim in judge(numbers)}


def test_verdicts_on_structure_learning_follow_the_numbers():
    found = verdicts(structure(0.9, 0.3, 0.8))
    assert found == {
        "time-10": "confirmed",
        "lowest-10": "confirmed",
        "lowest-persistent-10": "confirmed",
        "sweeps-10": "confirmed",
    }
    assert verdicts(structure(0.9, 0.7, 0.8))["time-10"] == "refuted"
    assert verdicts(structure(0.8, 0.3, 0.7))["time-10"] == "refuted"
    assert verdicts(structure(0.95, 0.3, 0.8))["time-10"] == "confirmed"
    assert verdicts(structure(0.9, 0.3, 0.91))["lowest-10"] == "refuted"
    assert verdicts(structure(0.9, 0.3, 0.9))["lowest-10"] == "open"
    assert verdicts(structure(0.9, 0.3, 0.8, certified=0.5))["time-10"] == "open"
    assert verdicts(structure(0.9, 0.3, 0.8, sweeps_late=80.0))["sweeps-10"] == "refuted"
    assert verdicts(structure(0.9, 0.3, 0.8, certified=0.5))["sweeps-10"] == "refuted"
    slow = structure(0.9, 0.3, 0.8)
    slow["structure-10"]["methods"][0]["seconds_to_goal"] = [0.9, 0.9, None]
    assert verdicts(slow)["time-10"] == "confirmed in part"


def headline(converged, has_a_link, assortativity=0.9, as_paper=(0.9, 0.9), is_converged=True, may_be=0):
    fit = {"rockefeller": converged, "assortativity": assortativity, "is_converged": is_converged}
    fit |= {"rockefeller_may_be": may_be}
    return {
        "headline": {
            "converged": {"nay": fit, "modelled": fit},
            "as_paper": [{"rockefeller": 40, "assortativity": value} for value in as_paper],
            "resampled": {way: {"senators": {ROCKEFELLER: {"has_a_link": has_a_link}}} for way in ("nay", "modelled")},
        }
    }


def pseudo(n_variables, difference, error=0.01):
    size = {"n_variables": n_variables, "difference": difference, "difference_error": error, "n_alphas": 4}
    size |= {"tay": 0.9, "pseudo": 0.9 - difference, "best_difference": 0.0, "best_difference_error": 0.0}
    return {"pseudolikelihood": {"sizes": [size]}}


def test_verdicts_on_the_pseudo_likelihood_follow_the_numbers():
    assert verdicts(pseudo(10, 0.001)) == {"pseudo-10": "confirmed", "better-10": "open"}
    assert verdicts(pseudo(10, -0.05)) == {"pseudo-10": "refuted", "better-10": "confirmed"}
    assert verdicts(pseudo(20, 0.05)) == {"pseudo-20": "refuted", "better-20": "confirmed"}
    assert verdicts(pseudo(20, -0.05)) == {"pseudo-20": "refuted", "better-20": "refuted"}
    assert verdicts(pseudo(20, 0.05, error=0.04)) == {"pseudo-20": "open", "better-20": "open"}


def tightness(over_error, over_bias, below=0.5, fischer_over=1e5):
    return {
        "tightness": {
            "over_error": {"paper": over_error, "fischer": fischer_over},
            "over_bias": {"paper": over_bias, "sharp": 1.0},
            "paper_below_error": below,
            "bias_in_error": 0.1,
            "fischer_sweeps": 1e6,
            "settings": {"n_chains": 2000},
        }
    }


def test_verdicts_on_tightness_follow_the_numbers():
    assert verdicts(tightness(0.5, 3.0)) == {"tight": "confirmed", "fischer": "confirmed"}
    assert verdicts(tightness(0.5, 300.0))["tight"] == "confirmed in part"
    assert verdicts(tightness(50.0, 300.0))["tight"] == "refuted"
    assert verdicts(tightness(5.0, 3.0, below=0.0))["tight"] == "refuted"
    assert verdicts(tightness(0.5, 3.0, fischer_over=10.0))["fischer"] == "refuted"


def test_verdicts_on_the_senate_follow_the_numbers():
    assert verdicts(headline(0, 0.1)) == {"party": "confirmed", "headline": "refuted"}
    assert verdicts(headline(0, 0.6))["headline"] == "open"
    assert verdicts(headline(2, 0.1))["headline"] == "refuted"
    assert verdicts(headline(7, 0.9))["headline"] == "confirmed"
    assert verdicts(headline(7, 0.9, is_converged=False))["headline"] == "open"
    assert verdicts(headline(0, 0.1, may_be=5))["headline"] == "open"
    for as_paper in [(0.9, 0.2), (0.9, None), (None, None)]:
        assert verdicts(headline(0, 0.1, as_paper=as_paper))["party"] == "confirmed in part"
    assert verdicts(headline(0, 0.1, assortativity=None))["party"] == "refuted"
    assert verdicts(headline(0, 0.1, assortativity=0.2))["party"] == "refuted"


def sizes(ratios, auc=0.9, certified=1.0):
    rows = []
    for p, ratio in ratios.items():
        rows += [
            {"n_variables": p, "method": "TAY", "seconds_to_goal": ratio, "auc": auc, "certified": certified},
            {"n_variables": p, "method": "SPG, 60 sweeps", "seconds_to_goal": 1.0, "auc": 0.9, "certified": None},
        ]
    return {"sizes": {"settings": {"near": 0.01}, "methods": rows}}


def test_the_verdict_on_larger_networks_follows_the_numbers():
    assert verdicts(sizes({10: 0.4, 1000: 0.2})) == {"sizes": "confirmed"}
    assert verdicts(sizes({10: 0.4, 1000: 0.9})) == {"sizes": "confirmed in part"}
    assert verdicts(sizes({10: 0.4, 1000: None})) == {"sizes": "confirmed in part"}
    assert verdicts(sizes({10: 0.6, 1000: 0.9})) == {"sizes": "refuted"}
    assert verdicts(sizes({10: 0.4, 1000: 0.2}, auc=0.85)) == {"sizes": "refuted"}
    assert verdicts(sizes({10: 0.4, 1000: 0.2}, certified=0.5)) == {"sizes": "open"}
    assert "0.40 (10), 0.20 (1000)" in judge(sizes({10: 0.4, 1000: 0.2}))[0].evidence
