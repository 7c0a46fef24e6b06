"""Fits whose every bit must survive a rearrangement of the code: store them before it, compare them after it.

    python benchmarks/same_bits.py store before.pkl     # with the code as it was
    python benchmarks/same_bits.py compare before.pkl   # with the code as it is; exit code 1 where a bit differs

Bits depend on the processor and on the versions of numpy and numba, so that both runs are made on one machine, and
nothing is kept in the repository.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import sparsefield as sf
from sparsefield import PairwiseMRF, PseudoLikelihood, SparseMRF, Table
from sparsefield.datasets import load_senate, make_field

Found = dict[str, Any]
SHORT: dict[str, Any] = {"solver": sf.Newton(n_chains=1500), "random_state": 3, "progress": False}

# Columns of traces that were renamed since a file was stored, by what they were called then.
RENAMED = {
    "gradient": {"step_map_norm": "step_norm", "simulation_error_norm": "noise_norm"},
    "newton": {"subgradient_norm": "step_norm", "share": "step_size", "simulation_error_norm": "noise_norm"},
    "pseudo": {"subgradient_norm": "step_norm", "share": "step_size", "simulation_error_norm": "noise_norm"},
}


def bound_on_subgradient(optimality: Any) -> float:
    """Return the second bound of a certificate of optimality, by its name now or before."""
    return float(optimality.subgradient if hasattr(optimality, "subgradient") else optimality.slope)


def fill_nays(votes: Table) -> Table:
    """Count votes that were not cast as nays."""
    return Table(votes.domain, np.where(votes.mask, 0, votes.codes).astype(np.uint8))


def describe_fit(fit: Any, kind: str) -> Found:
    """Return all that a fit says, but for its times."""
    trace = fit.trace.rename(RENAMED[kind], strict=False)
    columns = {name: trace[name].to_list() for name in trace.columns if name not in ("seconds", "reason")}
    return {
        "main": fit.model.main,
        "interactions": fit.model.interactions,
        "undecided": fit.undecided,
        "code": fit.status.code,
        "sentence": fit.status.sentence,
        "certified": fit.certified,
        "optimality": None
        if fit.optimality is None
        else (fit.optimality.gap, bound_on_subgradient(fit.optimality), fit.optimality.confidence),
        **{f"trace {name}": values for name, values in columns.items()},
    }


def make_tables() -> dict[str, Any]:
    """Make tables of several kinds: two levels, more levels, with missing cells, large."""
    rng = np.random.default_rng(1)
    two = make_field(8, strength=(0.7, 1.3), seed=1).sample(1000, method="perfect", seed=1)
    rows = rng.integers(0, 3, (400, 5))
    rows[:, 1] = np.where(rng.random(400) < 0.6, rows[:, 0], rows[:, 1])
    rows[:, 4] = rows[:, 4] > 0
    missing = two.codes.astype(float)
    missing[rng.random(missing.shape) < 0.1] = np.nan
    return {
        "two": two,
        "levels": sf.encode(rows),
        "no reference": sf.encode(rows, reference=None),
        "missing": sf.encode(missing),
        "wide": make_field(60, degree=3, strength=(0.5, 1.0), seed=2).sample(5000, n_sweeps=200, seed=1),
        "senate": load_senate().votes,
        "strong": make_field(12, edge_probability=0.9, strength=(2.5, 3.5), seed=1).sample(500, n_sweeps=200, seed=1),
    }


def fit_all() -> dict[str, Found]:
    """Make every fit."""
    tables = make_tables()
    weights = np.random.default_rng(2).random(1000)
    found: dict[str, Found] = {}

    def keep(name: str, estimator: Any, table: Table, kind: str, *, certify: bool = False, **options: Any) -> None:
        fit = estimator.fit(table, **options).fit_
        if certify:
            own = {"sample_weight": options["sample_weight"]} if "sample_weight" in options else {}
            fit = sf.certify(fit, table, n_draws=20_000, seed=5, **own)
        found[name] = describe_fit(fit, kind)

    def newton(**own: Any) -> dict[str, Any]:
        return {**SHORT, "solver": sf.Newton(n_chains=1500, **own)}

    def proximal(**own: Any) -> dict[str, Any]:
        return {**SHORT, "solver": sf.Proximal(**{"max_iter": 25, "n_chains": 1500, **own})}

    two = tables["two"]
    for bound in ("paper", "sharp", "persistent", "coalescence"):
        for schedule in ("tay", "conservative"):
            if (bound, schedule) != ("persistent", "conservative"):
                mrf = SparseMRF(0.03, **proximal(bound=bound, schedule=schedule, step_size=0.4))
                keep(f"spg {bound} {schedule}", mrf, two, "gradient")
    ways: tuple[str | int, ...] = ("auto", "perfect", "exact", "increasing", 3)
    for way in ways:
        for chains in ("restart", "persistent"):
            mrf = SparseMRF(0.03, **proximal(schedule=way, chains=chains))
            keep(f"spg {way} {chains}", mrf, two, "gradient")
    keep("spg noise floor", SparseMRF(0.03, **proximal(schedule="perfect", max_iter=2000)), two, "gradient")
    for way in ("auto", "perfect", "exact", "tay", "increasing", 5):
        keep(f"newton {way}", SparseMRF(0.03, **newton(schedule=way)), two, "newton", certify=True)
    for name in ("levels", "no reference", "missing", "strong"):
        keep(f"newton {name}", SparseMRF(0.03, **SHORT), tables[name], "newton")
        keep(f"spg {name}", SparseMRF(0.03, **proximal()), tables[name], "gradient")
    keep("newton free main", SparseMRF(0.03, penalize_main=False, **SHORT), two, "newton", certify=True)
    keep("newton gap", SparseMRF(0.03, gap=0.002, **SHORT), two, "newton", certify=True)
    keep("newton weights", SparseMRF(0.03, **SHORT), two, "newton", certify=True, sample_weight=weights)
    keep("newton certified levels", SparseMRF(0.05, **SHORT), tables["levels"], "newton", certify=True)
    keep("newton certified missing", SparseMRF(0.05, **SHORT), tables["missing"], "newton", certify=True)
    for missing in ("zero", "drop"):
        keep(f"newton missing {missing}", SparseMRF(0.03, missing=missing, **SHORT), tables["missing"], "newton")
    keep("newton zero start", SparseMRF(0.03, init="zero", **SHORT), two, "newton")
    start = found["newton auto"]
    model = PairwiseMRF(two.domain, start["main"], start["interactions"])
    keep("newton warm start", SparseMRF(0.025, init=model, **SHORT), two, "newton")
    options: dict[str, Any] = {"max_sweeps": 20, "max_iter": 5}
    keep("newton uncertified", SparseMRF(0.002, **newton(**options)), tables["strong"], "newton")
    started = SparseMRF(0.002, init="pseudolikelihood", **proximal(**options))
    keep("spg uncertified", started, tables["strong"], "gradient")
    bounded = SparseMRF(0.1, init="pseudolikelihood", **proximal(bound="coalescence", max_iter=4))
    keep("spg senate", bounded, fill_nays(tables["senate"]), "gradient")
    keep("newton wide", SparseMRF(0.02, **SHORT), tables["wide"], "newton")
    keep("newton senate", SparseMRF(0.1, **SHORT), fill_nays(tables["senate"]), "newton", certify=True)
    keep("newton senate missing", SparseMRF(0.2, **newton(max_iter=6)), tables["senate"], "newton")
    for name in ("two", "levels", "no reference", "wide"):
        for penalize_main in (True, False):
            mrf = PseudoLikelihood(0.02, penalize_main=penalize_main, progress=False)
            keep(f"pseudo {name} {penalize_main}", mrf, tables[name], "pseudo")
    keep("pseudo weights", PseudoLikelihood(0.02, progress=False), two, "pseudo", sample_weight=weights)

    model = make_field(20, seed=1)
    draws, run = model.sample(3000, method="perfect", seed=4, return_run=True)
    found["perfect"] = {"codes": draws.codes, "run": vars(run)}
    found["gibbs"] = {"codes": model.sample(3000, n_sweeps=7, seed=4).codes}
    found["exact"] = {
        "pair": make_field(14, seed=3).moments().pair,
        "log": float(make_field(14, seed=3).log_partition()),
    }
    found["moments"] = {name: sf.data.moments_of_table(tables[name]).pair for name in ("two", "levels", "wide")}
    found["edges"] = {"table": sf.edge_table(model).to_dict(as_series=False)}
    return found


def is_same(one: Any, other: Any) -> bool:
    """Say whether two values agree to the last bit; NaN agrees with NaN."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(np.asarray(one, dtype=object), np.asarray(other, dtype=object))) or (
        np.asarray(one).dtype.kind == "f" and bool(np.array_equal(one, other, equal_nan=True))
    )


def compare(before: dict[str, Found], after: dict[str, Found]) -> int:
    """Print what differs, and return how many fits do."""
    n_different = 0
    for name, own in before.items():
        # Columns that one kind of step does not have any more were empty before.
        missing = [key for key in own if key not in after[name] and any(v is not None for v in own[key])]
        wrong = [key for key in own if key in after[name] and not is_same(own[key], after[name][key])]
        for key in ("sentence", "certified"):  # words may change
            if key in wrong:
                wrong.remove(key)
                print(f"{name}: {key} was {own[key]!r}, is {after[name][key]!r}")
        if missing or wrong:
            n_different += 1
            print(f"{name}: differs in {', '.join(wrong) or 'nothing'}; lacks {', '.join(missing) or 'nothing'}")
    print(f"{len(before) - n_different} of {len(before)} are the same to the last bit.")
    return n_different


def main() -> None:
    how, path = sys.argv[1], Path(sys.argv[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit_all()
    if how == "store":
        path.write_bytes(pickle.dumps(found))
    else:
        sys.exit(min(1, compare(pickle.loads(path.read_bytes()), found)))


if __name__ == "__main__":
    main()
