"""What is chosen for proximal gradient steps: how long they are, when they are kept, and when they end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProximalPolicy:
    """Tuning constants of proximal gradient steps, with what was measured of each beside it.

    `PROXIMAL` holds the ones in use; `dataclasses.replace(PROXIMAL, window=10)` is another policy.
    """

    # --- When steps lead nowhere any more ---

    # The way made in so many iterations is compared with what simulation error alone would make. With 10, 40 and 160
    # fits of 10 variables end after 97, 207 and 533 steps, 1.85, 0.63 and 0.17 times nonzeros / (2 n) above the optimum
    # (`make bench-constants`): with 40 they are on average as near as Newton steps on n draws get, and in the worst
    # case 1.7 times that away. Longer windows lead further, in more time.
    window: int = 40

    # --- Whether a step is kept ---

    # Steps of automatic length that lead up are taken back and cut to this share, and grow again by its inverse. A step
    # of 1 / L goes down where L is the largest curvature on its way, which chains at its start may not see.
    cut: float = 0.3

    # Steps that lead down are taken for steps that lead up with probability 0.0013 at most.
    standard_errors: float = 3.0

    # --- How long a step is ---

    # A power step on n chains finds the largest eigenvalue of their covariance, which is right to about sqrt(2 / n) of
    # it: 1000 chains are enough for a step size, and the covariance itself is never formed. That is 4.5%; `make
    # bench-constants` finds a standard deviation of 4.4%.
    n_chains: int = 1000

    # The first estimate takes this many power steps; the direction is followed by one more in every iteration. 1, 3, 10
    # and 30 steps find 0.74, 0.95, 0.99 and 1.01 of the largest eigenvalue (`make bench-constants`).
    rough_steps: int = 10

    # Chains that are there for the curvature alone are swept so often. With 1, 3, 30 and 100 sweeps they show 0.97,
    # 1.00, 0.99 and 1.00 of the largest eigenvalue (`make bench-constants`, 10 variables): three would do there, and
    # thirty are a reserve for fields that mix more slowly.
    rough_sweeps: int = 30

    # --- Whether they led down at all ---

    # Where draws do not tell two objectives apart there are sixteen times as many, which quarters the error, three
    # times at most: from 2000 draws to 8 million, or to the limit, which is that of a Newton step.
    growth: int = 16
    most_tries: int = 4


PROXIMAL = ProximalPolicy()
