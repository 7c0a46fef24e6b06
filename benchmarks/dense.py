"""A hundred variables that all interact: maximum likelihood beside adabmDCA, in the same run.

    make bench-dense [PEERS=1]

The field is a spin glass of 100 variables (couplings of spins are normal, with standard deviation 0.05), the table
has 20,000 rows of long Gibbs chains. adabmDCA makes 10 Gibbs sweeps an iteration, as it does unless told, of 1000
chains with learning rate 0.05 (10,000 and 0.01 are for graphics cards: an iteration takes ten times as long), and is
stopped at its own criterion, a correlation of 0.95 of connected correlations, and after a minute. All are judged by
20,000 other rows, by log-partition functions from annealing, and by how far their interactions are from those of the
field.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from measure import name_machine, store
from sparsefield import PairwiseMRF, PseudoLikelihood, SparseMRF, Table

P, N_ROWS, SPREAD = 100, 20_000, 0.05
SECONDS = 60.0
Found = tuple[PairwiseMRF, str]


def make_glass(seed: int) -> PairwiseMRF:
    """Return a spin glass in which all pairs interact."""
    rng = np.random.default_rng(seed)
    couplings = np.triu(rng.normal(0, SPREAD, (P, P)), 1)
    return PairwiseMRF.from_spins(rng.normal(0, 0.2, P), couplings + couplings.T)


class AdabmDca:
    """The training of adabmDCA: gradient steps on chains that persist."""

    def __init__(self, table: Table) -> None:
        import torch
        from adabmDCA.sampling import prepare_sampler

        self._torch, self._domain = torch, table.domain
        one_hot = torch.nn.functional.one_hot(torch.tensor(table.codes.astype(np.int64)), 2).to(torch.float32)
        self._data = one_hot
        self._sampler = prepare_sampler("gibbs", one_hot.device)

    def train(self, target: float, limit: float) -> Found:
        """Train until connected correlations have this correlation with those of the data, or time is up."""
        from adabmDCA.stats import get_correlation_two_points, get_freq_single_point, get_freq_two_points
        from adabmDCA.training import update_params

        torch = self._torch
        torch.manual_seed(1)
        n_chains, n_sweeps, rate = 1000, 10, 0.05
        fi, fij = get_freq_single_point(data=self._data), get_freq_two_points(data=self._data)
        parameters = {"bias": torch.log(fi + 1e-9), "coupling_matrix": torch.zeros_like(fij)}
        mask = torch.ones_like(fij)
        mask[torch.arange(P), :, torch.arange(P), :] = 0.0
        chains = torch.nn.functional.one_hot(torch.multinomial(fi, n_chains, replacement=True).T, 2).to(torch.float32)
        begin, steps, pearson = time.perf_counter(), 0, 0.0
        while pearson < target and time.perf_counter() - begin < limit:
            pi, pij = get_freq_single_point(data=chains), get_freq_two_points(data=chains)
            pearson = float(get_correlation_two_points(fij=fij, pij=pij, fi=fi, pi=pi)[0])
            parameters = update_params(
                fi=fi, fij=fij, pi=pi, pij=pij, params=parameters, mask=mask, lr=rate, l2_reg=0.0
            )
            chains = self._sampler(chains=chains, params=parameters, nsweeps=n_sweeps)
            steps += 1
        said = f"{steps} steps, correlation {pearson:.3f}"
        return self._as_model(parameters["bias"].numpy(), parameters["coupling_matrix"].numpy()), said

    def _as_model(self, bias: NDArray[Any], pair: NDArray[Any]) -> PairwiseMRF:
        """Return the field: what level 1 has more than level 0."""
        bias, pair = bias.astype(np.float64), pair.astype(np.float64)
        interactions = pair[:, 1, :, 1] - pair[:, 1, :, 0] - pair[:, 0, :, 1] + pair[:, 0, :, 0]
        main = bias[:, 1] - bias[:, 0] + (pair[:, 1, :, 0] - pair[:, 0, :, 0]).sum(axis=1)
        return PairwiseMRF(self._domain, main, (interactions + interactions.T) / 2)


def judge(model: PairwiseMRF, truth: PairwiseMRF, fresh: Table) -> dict[str, float]:
    """Return the mean log-likelihood of other rows, its simulation error, and the error of interactions."""
    upper = np.triu_indices(P, 1)
    found = model.log_partition(seed=1)
    s = fresh.codes.astype(np.float64)
    exponents = s @ model.main + np.einsum("ij,ij->i", s @ model.interactions, s) / 2
    error = (model.interactions - truth.interactions)[upper]
    return {
        "log_likelihood": float(exponents.mean() - found.value),
        "standard_error": float(found.error),
        "interaction_error": float(np.sqrt((error**2).mean())),
    }


def bench(peers: bool) -> list[dict[str, Any]]:
    """Learn the table by all methods, and judge them."""
    truth = make_glass(1)
    table, fresh = (truth.sample(N_ROWS, method="gibbs", n_sweeps=500, seed=seed) for seed in (1, 2))
    small = Table(make_glass(1).domain, table.codes[:200])
    SparseMRF(0.05, random_state=1).fit(small)  # compile
    PseudoLikelihood(0.05).fit(small)

    def by_likelihood(alpha: float) -> Callable[[], Found]:
        def learn() -> Found:
            mrf = SparseMRF(alpha, random_state=1, gap=0.05, max_seconds=SECONDS).fit(table)
            return mrf.model_, f"{mrf.n_iter_} iterations, {mrf.status_.code}"

        return learn

    ways: dict[str, Callable[[], Found]] = {
        "SparseMRF, alpha 0.002": by_likelihood(0.002),
        "SparseMRF, alpha 0.0005": by_likelihood(0.0005),
        "PseudoLikelihood, alpha 0.002": lambda: (PseudoLikelihood(0.002).fit(table).model_, ""),
    }
    if peers:
        peer = AdabmDca(table)
        ways["adabmDCA, correlation 0.95"] = lambda: peer.train(0.95, SECONDS)
        ways["adabmDCA, a minute"] = lambda: peer.train(1.0, SECONDS)
    rows: list[dict[str, Any]] = [
        {"method": "the field itself", "seconds": None, **judge(truth, truth, fresh), "said": ""}
    ]
    for name, learn in ways.items():
        begin = time.perf_counter()
        model, said = learn()
        rows.append(
            {"method": name, "seconds": time.perf_counter() - begin, **judge(model, truth, fresh), "said": said}
        )
    return rows


def write_page(rows: list[dict[str, Any]], path: Path, command: str) -> None:
    """Write the table for people."""
    lines = [
        "# A hundred variables that all interact",
        "",
        f"Made by `{command}` on {name_machine()}; versions and commit are in dense.json. {N_ROWS} rows of a spin "
        f"glass of {P} variables. Log-likelihoods are means over as many other rows, in nats; the error is that of "
        "interactions, root mean square.",
        "",
        "| method | seconds | log-likelihood | simulation error | error of interactions | |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        seconds = "" if row["seconds"] is None else f"{row['seconds']:.1f}"
        lines.append(
            f"| {row['method']} | {seconds} | {row['log_likelihood']:.3f} | {row['standard_error']:.3f} "
            f"| {row['interaction_error']:.4f} | {row['said']} |"
        )
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Run the benchmark and store what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", action="store_true", help="also measure adabmDCA")
    options = parser.parse_args()
    rows = bench(options.peers)
    folder = Path(__file__).parent / "results"
    store({"rows": rows}, folder / "dense.json")
    write_page(rows, folder / "dense.md", f"make bench-dense{' PEERS=1' if options.peers else ''}")
    Console().print((folder / "dense.md").read_text(), markup=False)


if __name__ == "__main__":
    main()
