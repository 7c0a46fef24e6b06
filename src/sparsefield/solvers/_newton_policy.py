"""What is chosen for Newton steps: how far they go, when they are kept, and how many draws they have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NewtonPolicy:
    """Tuning constants of Newton steps, with what was measured of each beside it.

    `make bench-constants` varies what is chosen here, and measured the numbers of steps, draws and gaps below. Gaps are
    exact, over what was asked for: with the values in use 1.04 on average for fits that start from the
    pseudo-likelihood, and 0.96 for those that start from zero, with standard errors of about 0.07.
    """

    # --- How far a step goes (line search) ---

    # This share of the draws must still count at the end of a step. Steps are judged at their end, so that all fits
    # reach the gap whatever it is. From zero, with 0, 0.1, 0.3, 0.6 and 0.9 there are 8.8, 7.2, 7.5, 8.3 and 13.7
    # steps, and 140,000, 100,000, 80,000, 115,000 and 250,000 draws; from the pseudo-likelihood it makes no difference.
    least_share: float = 0.3

    # A step that goes too far is cut to this share of it, again and again. The value hardly matters: 0.5, 0.7 and 0.9
    # take 7.7, 7.5 and 7.1 steps from zero, and 86,000, 80,000 and 92,000 draws.
    shorter: float = 0.7

    # After sixty cuts 0.7^60 = 5e-10 of a step is left, which gains as small a part of what was promised. The
    # simulation error of 2^22 draws costs 1e-7 for each parameter that is not zero: a step that has been cut so often
    # is not worth making.
    most_shorter: int = 60

    # --- The quadratic model ---

    # A working set of 8192 parameters has 8192^2 second moments, which are counts of four bytes: 256 MiB. While they
    # are counted, memory holds three to four times as much (measured: 224 MiB for the 64 MiB of 4096 parameters).
    most_active: int = 8192

    # Of features they are doubles: 128 MiB with 4096 parameters, and groups are minimised on a copy in another order.
    most_features: int = 4096

    # Coordinate descent ends by its tolerance before: 10,000 epochs lead to the same fits. With 100 gaps are 0.98 and
    # 1.01, within their errors; with 10 they are 1.40 and 1.54.
    most_epochs: int = 1000

    # A covariance of w statistics over n draws has eigenvalues that are off by factors from (1 - sqrt(w / n))^2 to
    # (1 + sqrt(w / n))^2 (Marchenko and Pastur 1967, for equal ones): 1/4 to 9/4 with four draws for each parameter,
    # and down to zero with one. With the ridge on top it hardly matters: 1, 4 and 16 take 8.0, 7.5 and 8.2 steps from
    # zero, and 116,000, 80,000 and 84,000 draws.
    draws_each: int = 4

    # The quadratic model is minimised to this share of the largest simulation error that a gradient can have,
    # 0.5 / sqrt(n). With 0.01 gaps are hardly smaller (1.00 and 0.90), with 0.5 they are larger (1.18 and 1.46).
    inner_noise: float = 0.05

    # It is minimised no further than to this share of the largest violation, which is what counts where moments are
    # exact. With 1e-4 fits are the same, and with 1e-2 gaps are no larger (0.99 and 0.82) but draws more (70,000 and
    # 95,000 in place of 63,000 and 80,000). With 0.1 there are 86,000 and 103,000, and exact moments take 7.3 steps in
    # place of 7.0.
    inner_tol: float = 1e-3

    # --- Its curvature, where that is sparse ---

    # A dense covariance of fewer statistics than these takes at most 0.03 s over 30,000 draws, and its inverse 0.1 s.
    fewest: int = 1024

    # Pairs that are chosen are counted at 100 and more pairs of bits a nanosecond, all pairs at 1500 (one core of a Zen
    # 4): it pays to choose where no more than this share is kept.
    most_kept: float = 1 / 16

    # So many entries above the diagonal take 128 MiB each for their columns and counts, and 768 MiB as whole rows.
    most_entries: int = 2**25

    # A step with modelled curvature b whose true curvature is t leaves the share r^2 of what its direction has to give,
    # r = (t - b) / (2 P), P being what the model promises: (t / b - 1)^2 where no penalty counts. More than a quarter
    # is too much, as it is where curvatures are those of a field nearby (`follow`). Over n draws t is right to
    # sqrt(2 / n) of it, a hundredth with 20,000, which does not count beside a half.
    most_left: float = 0.25

    # --- Its curvature, where moments are exact and that is of a field nearby (quasi-Newton) ---

    # A step leaves of what it promised the square of the share by which the curvature that it took differs from that on
    # its way. Where more than a quarter is left, the curvatures are half apart, and all states are held anew: with 2^20
    # of them that takes as long as four steps. In units of such steps, nine paths of 30 penalties (10, 14 and 16
    # variables; 500, 2000 and 20,000 rows) take 624, 621 and 632 with 0.1, 0.25 and 0.4, and 1510, 1348 and 1315 with
    # relaxed fits.
    slow: float = 0.25

    # Draws miss the curvature by more where states are rare, and are made anew where steps have not mended that. With
    # 0.25, 0.5 and 0.9 six tables (20 to 100 variables, two and more levels) take 4.6, 4.2 and 4.4 s.
    slow_with_draws: float = 0.5

    # What is left may be twice what a step promises, as it is where the curvature is half of that nearby. Of 1440 fits
    # of 8 variables, relaxed or not, none left more than 0.81 of what it may, and the log-likelihood was off by 1.14 of
    # that at most, 0.64 in 99 of 100 and 0.07 in the median.
    at_least: int = 2

    # Of the steps since the states were held, so many correct the curvature. With none, 4, 8 and 12 the nine paths take
    # 1115, 714, 655 and 638. Shorter ones change moments by as little as these are rounded.
    most_secants: int = 12
    shortest: float = 1e-9

    # --- Whether a step is made, and kept (backtracking) ---

    # A step that promises less than this multiple of nonzeros / (2 n) is not made, and ends a fit. At the optimum a
    # step from what n draws led to, on n others, is promised about twice that: once for the simulation error of either.
    # With 2, 2.5 and 4 mean gaps are 0.68, 1.04 and 1.50 from the pseudo-likelihood, with 157,000, 63,000 and 51,000
    # draws, and 0.70, 0.96 and 1.40 from zero, with 118,000, 80,000 and 71,000. With 1 two fits of three do not end.
    noise: float = 2.5

    # A step that led up is cut to this share, and to it again, twelve times at most: 0.3^12 = 5e-7 of it is then left,
    # which gains as small a part of what was promised.
    cut: float = 0.3
    most_cuts: int = 12

    # Steps that lower the objective are taken for steps that raise it with probability 0.0013, one-sided: once in 800
    # steps, which costs a shorter step.
    standard_errors: float = 3.0

    # An objective is surely below another one where it is by so many standard errors: 0.99 of a normal distribution.
    surely: float = 2.33

    # Of a curvature of which missing values take more than this, draws cannot tell how much is left.
    largest_share: float = 0.95

    # --- How many draws there are ---

    # Simulation error makes no edge at all in about 60 of 100 batches of draws then, exp(-1/2), where few pairs are
    # near.
    most_chance_edges: float = 0.5

    # An iteration has at most this multiple of the draws of the last one, unless its step was short. With 2, 4 and 16
    # there are 7.5, 7.5 and 7.1 steps from zero, with 91,000, 80,000 and 83,000 draws.
    growth: int = 4

    # A step at whose end this share of the draws still counts is short: what comes next has all draws that are wanted.
    # With 0.6, 0.8 and never 63,000, 63,000 and 58,000 draws are made from the pseudo-likelihood, in 3.5, 3.5 and 3.9
    # steps, and 118,000, 80,000 and 64,000 from zero, in 7.5, 7.5 and 7.6.
    near: float = 0.8

    # The number of draws wanted moves a little with the support. With nine tenths of it simulation error costs
    # 1 / 0.9 = 1.11 times the gap, at most; it hardly matters, since draws are mostly as many as are wanted.
    enough: float = 0.9

    # So that simulation error makes no edges, more draws than this are made at once only where their time is known, or
    # not limited, and at all only where the gap may ask for them too. They take 0.03 s of a sparse field of 60
    # variables, and 2.3 s where 1529 of its 1770 pairs interact, whose exact draws are long (one core).
    most_unasked: int = 2**16

    # So that seeds agree, at most so many indicators are drawn, one for each slot and draw: 2.7 million draws of 100
    # variables, which take about ten seconds on two cores (190,000 took 0.75 s), and 540,000 of 500.
    most_agreed: int = 2**28

    # So that seeds agree, weights of nearly all edges are to differ by less than this between two of them:
    # `find_spread`. With 0.1, 0.05 and 0.02 the fits of seven tables with 8 to 60 variables
    # (`tests/estimators/test_seeds.py`) take 0.8, 1.0 and 3.3 s on average (two cores).
    spread: float = 0.05

    # This is a limit on time: one thread makes 1 to 3 million exact draws of 10 or 20 variables a second (`make
    # bench-certificates`), so that four million take seconds. A mean is then right to 0.5 / 2^11 = 0.00024.
    most_draws: int = 2**22

    # --- How many of them are held ---

    # The draws that are held at one time have this many indicators, one bit each: 64 MiB. (Chains of more than two
    # levels hold a byte for each variable besides.) Further draws count for the moments only. Where there are so many
    # variables that a matrix of them takes more, they have a quarter of its bits: 16 of 64 for each pair.
    most_cells: int = 2**29
    cells_a_pair: int = 16

    # So many draws are held for each parameter that the curvature is about, and all of 65,536. The eigenvalues of a
    # covariance over 32 draws for each of its statistics are off by factors from 0.68 to 1.38 (Marchenko and Pastur
    # 1967), so that a Newton step leaves a tenth of the gap at most: the simulation error of all draws in the gradient
    # is what counts then.
    held_each: int = 32
    held_always: int = 2**16


NEWTON = NewtonPolicy()
