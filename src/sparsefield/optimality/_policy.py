"""The tuning constants of certificates, as one frozen value: tests and benchmarks replace fields of it."""

from __future__ import annotations

from dataclasses import dataclass

from sparsefield.solvers import NEWTON, NewtonPolicy


@dataclass(frozen=True)
class GapPolicy:
    """The tuning constants of certificates: draws, steps, and shares of the risk, with what was measured of each.

    `GAPS` holds the ones in use; `dataclasses.replace(GAPS, most_active=11)` is another policy.
    """

    # --- Attempts to certify a fit, and further steps between them ---

    confidence: float = 0.99  # a convention, as for `certify`

    # A fit that is to be certified gets this share of the gap for itself; what is left is for the simulation error of
    # the certificate.
    own_share: float = 1 / 3

    # Bounds from n draws are above the gap by about z sqrt(2 k) / (2 n) for the simulation error of k parameters that
    # are not zero, and by u / (2 n) for u zeros near their penalties, of which there are about as many: together k / n,
    # at most. With fewer than 100 draws for each parameter bounds are often refused, since tails are too long
    # (docs/math/optimality.md). Zeros that so many draws leave near their penalties count as well.
    draws_each: int = 100
    fewest_draws: int = 50_000

    # Draws grow by this factor from attempt to attempt, and the gap of further steps falls by it.
    growth: int = 4

    # Four attempts have 64 times the draws of the first, which brings a bound of order sqrt(k) / n down by as much.
    # (More of them would have no seeds of their own.)
    most_attempts: int = 4

    # --- Shares of the risk ---

    # Of the risk this share goes to the errors of all moments and the bound by entropies; the rest to the decrement.
    entropy: float = 0.05

    # Of the risk, this share goes to what holds for every number of draws, where it counts by its logarithm; the rest
    # to the central limit theorem.
    proven: float = 0.02

    # Of the rest, this share goes to either side of the fall of the objective along a walk, where there is one; and of
    # what is then left, this share to a second try, which is seldom made.
    fall: float = 0.15
    second: float = 0.05

    # Of the risk of a certificate this share goes to the limit on the decrement, the next to all statistics outside S
    # together, and the last to powers of h and the reach. The first has the largest part in the bound, which moves with
    # the normal quantile of its share: by 4% from 0.85 to 0.7. The others move by their logarithms, in small terms.
    decrement: float = 0.85
    outside: float = 0.1
    tail: float = 0.05

    # --- Newton steps to where the decrement is small ---

    # How far a step goes, what share of the draws must still count at its end, and how many there are at most.
    steps: NewtonPolicy = NEWTON

    # A squared decrement above this is walked down first. Of a normal direction of norm delta the terms of higher order
    # add 0.27 delta + delta^2 to a bound, relative to delta^2 / 2: 8% here. A walk takes two more batches.
    largest_decrement: float = 0.03

    # A step is made where its decrement is above its simulation error by this many standard errors. Steps on that error
    # go uphill.
    standard_errors: float = 2.0

    # An excess up to this costs a bound next to nothing; beyond, it may not be one at all on fresh draws.
    small_excess: float = 0.003

    # A Newton step squares the distance from the optimum once it is small; eight are enough from far away.
    most_steps: int = 8

    # --- The statistics that a feasible distribution is made of ---

    # 8192 statistics have a covariance of 512 MiB; three or four such matrices are held at one time. A certificate of
    # 5204 parameters of 2000 variables takes 190 s on two cores with AVX2 and 2.2 GiB, and one of 2561 of 1000
    # variables 24 s.
    most_active: int = 8192

    # The quadratic model is minimised to this share of the simulation error of a mean whose variance is 1/4: what is
    # left changes targets by as much, and adds to the decrement the square of it.
    inner_noise: float = 0.02
    most_epochs: int = 1000

    # Each round adds the statistics that the step led over the edge; one or two rounds are what it takes.
    most_rounds: int = 10

    # Hotelling's limit is for normal means. Statistics of S must be seen, and not seen, as often: Cochran's (1954) rule
    # for chi-square is five to ten.
    least_seen: int = 10

    # The covariance of k statistics over n draws is off by factors from (1 - sqrt(k / n))^2 on: 0.47 with ten for each.
    judging_draws_each: int = 10

    # Statistics outside S that come as near to their penalties as this multiple of their errors join it for a second
    # try.
    near: float = 1.5

    # --- Draws ---

    # Sweeps within which half of the bounding chains of a pilot run must meet.
    most_sweeps: int = 10_000

    # A batch has at most so many cells, which are bytes where every statistic of several levels is projected on values:
    # 256 MiB. Cells of two levels are bits, or bytes of chains that are held so: 128 MiB, or 1 GiB.
    most_cells: int = 2**28
    most_bits: int = 2**30

    # From so many statistics on the least eigenvalue of their correlations is bounded by two Cholesky factors: with
    # 1000 variables that takes 1.5 s of CPU for two covariances, where their tridiagonal forms take 5.8 s.
    many: int = 1024

    most_gibbs_sweeps: int = 1000  # of Gibbs chains, where there are no exact draws
    small_bias: float = 1e-3  # share of the simulation error that their bias may have

    # --- The second fit ---

    most_margin: float = 0.7  # of alpha, by which the penalty of the second fit may be smaller


GAPS = GapPolicy()
