"""The numbers that decide how the pseudo-likelihood is minimised, and how nodes are regressed on their neighbours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PseudoPolicy:
    """How the pseudo-likelihood is evaluated, and how proximal Newton steps on it are made."""

    rows_at_once: int = 8192  # whose indicators are held as floats at one time
    most_held: int = 2**28  # cells whose indicators are kept from one iteration to the next
    most_double: int = 2**18  # cells that are computed with in double precision; in single precision beyond that

    # Tolerances from here on are for single precision where variables are binary, whose rounding leaves 4e-8 to 4e-7 in
    # the norm of the gradient: fields of 20 to 1000 variables, 28 to 1538 edges, 1000 to 1,000,000 rows.
    least_single: float = 1e-5

    # Rows that are the same are counted once where at most this share of the rows is left. Sorting takes as long as one
    # look at 20 variables, and a fit has ten of them.
    most_distinct: float = 0.9

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
    longer: float = 1.1  # a step that goes too far is halved; the next one may be a little longer

    # Gradient steps are made in main effects of features with a standard deviation of 1/2, as all have where levels are
    # equally likely. A protein family (53 columns, 25 edges) takes 291 looks at the rows with 0.6, 559 with 0.25, and
    # 328 where features are left as they are.
    deviation: float = 0.5

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


@dataclass(frozen=True)
class RefitPolicy:
    """How missing cells of neighbours are drawn, and how regressions are solved."""

    # --- Missing cells ---

    # Rows with missing cells are filled so many times, each with a share of the weight: the convention of multiple
    # imputation (Rubin 1987), which keeps 1 / (1 + g / 5) of the efficiency where a share g of the information is
    # missing.
    n_filled: int = 5
    max_sweeps: int = 2000  # within which chains must meet for these, unless given, as for `Completed`
    gibbs_sweeps: int = 100  # where exact draws of missing cells are out of reach

    # --- The prior ---

    # A normal prior keeps weights finite where neighbours tell a variable without error: weights have a standard
    # deviation of 10, so that it costs at most half a nat below 10, where a probability is 5e-5 from certain; main
    # effects have 1000.
    precision: float = 1e-2
    precision_of_main: float = 1e-6

    # --- Newton steps ---

    most_steps: int = 50
    most_halvings: int = 20
    tolerance: float = 1e-3  # nats that the last step gained, over all rows; criteria ask for log(n) nats a parameter

    # Up to so many parameters the curvature is held as a matrix. With more, thirty products with it, about as many as
    # conjugate gradients take for a step, are cheaper: one takes 4 n w operations, and the matrix n w^2 / 2.
    most_held: int = 240

    # A step that conjugate gradients leave to a tenth gains all but a hundredth of what it could.
    share_left: float = 0.1
    most_conjugates: int = 500


REFITS = RefitPolicy()
