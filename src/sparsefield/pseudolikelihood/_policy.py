"""The numbers that decide how the pseudo-likelihood is minimised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PseudoPolicy:
    """How the pseudo-likelihood is evaluated, and how proximal Newton steps on it are made."""

    rows_at_once: int = 8192  # whose indicators are held as floats at one time
    most_held: int = 2**28  # cells whose indicators are kept from one iteration to the next
    most_double: int = 2**18  # cells that are computed with in double precision; in single precision beyond that

    # Kernels are asked whether the time is up ten times a second.
    wait: float = 0.1

    # The quadratic model holds at most so many entries at one time: 256 MiB in single precision, and 512 MiB in double
    # precision, which is for tables of up to 2^18 cells.
    most_curvatures: int = 2**26

    # In features the model is one matrix, 128 MiB with so many parameters. Where more than half of them differ from
    # zero, there is no room for as many zeros, and gradient steps are made in place of Newton's.
    most_active: int = 4096

    # Gradient steps are about the pairs that interact and as many others, fifty at least, until the smallest
    # subgradient over them is down to the share that quadratic models are minimised to, or for so many steps.
    fewest_pairs: int = 50
    most_steps: int = 200

    # A quadratic model is solved to this share of the largest violation, in so many epochs at most. On 50 spikes, a
    # dense field of 50 variables and a sparse one of 1000, shares of 0.005 and 0.5 take 0.8 to 1.0 and 1.3 to 1.4 times
    # as long. With 20 and with 100 variables `make bench-constants` counts 3 and 3 iterations, and 4 and 5 with 5
    # epochs.
    inner_tol: float = 0.05
    most_epochs: int = 50

    # Of binary variables, steps over a working set go on until the smallest subgradient over it is down to this share
    # of what it was. With 0.01 and 0.5 in place of 0.1 the same fits take 0.9 to 1.2 and 0.9 to 1.2 times as long.
    outer_tol: float = 0.1

    # The last halving leaves 2^-29 = 2e-9 of a step, which moves parameters of order one by less than single precision.
    most_halvings: int = 30

    # Below so many binary variables all pairs are looked at each time: bounds take two evaluations, which is as long.
    fewest_screened: int = 100

    # Pairs that bounds leave open are evaluated one by one, at about half the speed of all pairs at once and for two
    # variables each: where they are more than this share of all products, all pairs are looked at.
    most_open: float = 1 / 8


PSEUDO = PseudoPolicy()
