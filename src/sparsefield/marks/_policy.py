"""The tuning constants of marks, as one frozen value: tests and benchmarks replace fields of it."""

from __future__ import annotations

from dataclasses import dataclass

from sparsefield.solvers import NEWTON


@dataclass(frozen=True)
class MarksPolicy:
    """The tuning constants of marks, each with what it was measured on.

    `MARKS` holds the ones in use; `dataclasses.replace(MARKS, most_looks=0)` is another policy.
    """

    # Where draws leave more than this share of the edges open, four times as many look again, and so on so many times:
    # a mark on everything says nothing.
    most_marked: float = 0.5
    growth: int = 4
    most_looks: int = 2

    # No look has more draws than a Newton step, and no covariance of them fewer for each parameter.
    most_draws: int = NEWTON.most_draws
    draws_each: int = NEWTON.draws_each

    # Sets of what may and what must differ from zero get closer from round to round, and each pair of them is right.
    most_narrowings: int = 10

    # This share of the draws must still count at the optimum that they lead to; else they say little of it, and all is
    # marked.
    least_share: float = 0.3

    # Moves whose norm by the curvature is below a fifth of 1 / sqrt(n) change no parameter and no gradient by more than
    # a fifth of its standard error (the inequality of Cauchy and Schwarz). All of that in one of them would make 0.991
    # of a confidence of 0.995.
    settled: float = 0.2
    most_rounds: int = 30

    # The curvature is that of the draws as they are, and not as they are reweighted. Where it is too small by up to a
    # half, whole moves go there and back again with errors that fall slowly: moves are halved where the squared norm of
    # a move is more than half that of the last one. (The Senate at alpha 0.12 takes 8 rounds in place of 20, and at
    # 0.15 they went on for ever.)
    slowest: float = 0.5
    shortest: float = 0.25

    # Quadratic models are minimised to this share of the largest violation, and once a round moves no parameter by more
    # than its standard error, to a fifth of the simulation error, 2 / n, of a mean over n draws to which four of them
    # contribute.
    inner_tol: float = 0.03
    most_epochs: int = 1000

    # A set of 8192 parameters has a covariance of 512 MiB, and there are three arrays of that size at a time.
    most_whole: int = 8192

    # With so many parameters rows of 30 to 300 near entries have 120 MiB at most.
    most_near: int = 32768

    # Up to so many parameters the whole covariance is the way: inverses for the marks of 3039 take 3.2 s of CPU, and
    # these a third of that, by their cubes.
    whole_is_cheap: int = 2048

    # Near entries are to be no more than this share of those of the whole: blocks have wider rows.
    largest_share: float = 1 / 16

    # Blocks have the statistics with a variable at most so many neighbours from one of the statistic in their middle:
    # two, where rows have no more than 128 entries on average, which takes cliques of variables, and else one. On 200
    # blocks of six variables each (2193 statistics) steps with a reach of two end after 7 rounds, and those with one
    # have no minimum.
    reaches: tuple[int, ...] = (2, 1)
    most_each: int = 128

    # A model that would fall by more than this has no minimum, or one at which no draw counts: a fall of f takes
    # weights with a variance of about exp(2 f).
    most_fall: float = 10.0

    # Rough gradients are right to this share of the least that a parameter pays: those that are far from their
    # penalties need not be found exactly then.
    rough: float = 1 / 8

    # A step of which a thousandth does not lead down has a direction that does not.
    most_halvings: int = 10

    # More than sums over millions of draws are rounded by.
    rounding: float = 1e-12

    # Covariances with what is outside a block are chance unless they are above so many standard errors: a normal error
    # is with a probability of 6e-7.
    standard_errors: float = 5.0

    # So many statistics may matter to a block from outside, and all together they may add this share to a variance.
    # Where more do, blocks are not the way.
    most_outside: int = 64
    most_excess: float = 0.1


MARKS = MarksPolicy()
