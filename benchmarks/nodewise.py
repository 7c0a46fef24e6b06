"""Networks made of one logistic regression for each variable: IsingFit's recipe, and scikit-learn's cross-validation.

IsingFit (van Borkulo et al. 2014) regresses each variable on all others along glmnet's path of penalties, takes the one
with the least EBIC, and makes an edge where both regressions of a pair have it (AND) or one of them has (OR). The path
is written again here, since glmnet is not for Python: standardised columns, an intercept without penalty, and penalties
in glmnet's ratio. Its optimality conditions are checked for every penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegressionCV

from sparsefield._typing import Values

GAMMA = 0.25  # IsingFit's default
RATIO = 1e-4 ** (1 / 99)  # of neighbouring penalties: glmnet has 100 of them down to 0.0001 of the largest
N_PENALTIES = 51  # down to a hundredth of the largest
TOLERANCE = 1e-5  # of the gradient, where columns are standardised: a few thousandths of what noise makes of it
MOST_PASSES = 10_000

N_FOLDS = 5  # scikit-learn's default

# saga has no penalty on the intercept. liblinear has one, and LogisticRegressionCV of scikit-learn 1.9.1 ignores the
# scaling that would make it small: with 1, 10 and 1000 fits are the same. 100 passes, the default, are too few.
SOLVER, MOST_SAGA_PASSES = "saga", 2000


@dataclass(frozen=True, eq=False)
class Regressions:
    """The regressions of all variables: row i predicts variable i from the others.

    Parameters
    ----------
    intercepts : ndarray of shape (p,)
        One for each variable.
    coefficients : ndarray of shape (p, p)
        Those of the other variables, with a zero diagonal.
    """

    intercepts: Values
    coefficients: Values

    def network(self, rule: str) -> Values:
        """Return interactions, (p, p): the mean of both coefficients, where both ("and") or one ("or") are not zero."""
        found = self.coefficients
        if rule == "and":
            found = np.where((found != 0) & (found.T != 0), found, 0.0)
        return (found + found.T) / 2


@njit(cache=True)
def descend(x, y, penalties, tolerance, most_passes):  # type: ignore[no-untyped-def]
    """Fit a logistic regression for each penalty, from the largest to the smallest.

    Weighted least squares around the last fit are minimised by coordinate descent, first over what is not zero
    (Friedman, Hastie and Tibshirani 2010). The columns of x, (q, n), have mean zero and variance one.

    Returns the intercepts, (k,), the coefficients, (k, q), log-likelihoods, (k,), and by how much the gradient violates
    optimality, (k,).
    """
    q, n = x.shape
    intercepts, coefficients = np.empty(len(penalties)), np.zeros((len(penalties), q))
    log_likelihoods, violations = np.empty(len(penalties)), np.empty(len(penalties))
    share = y.mean()
    b0, b = np.log(share / (1 - share)), np.zeros(q)
    eta = np.full(n, b0)
    is_active, gradient, curvature = np.zeros(q, dtype=np.bool_), np.empty(q), np.empty(q)
    for k in range(len(penalties)):
        penalty, n_passes = penalties[k], 0
        while True:
            p = 1 / (1 + np.exp(-eta))
            w = np.maximum(p * (1 - p), 1e-5)  # as in glmnet
            r = y - p
            worst = abs(r.mean())
            for j in range(q):
                gradient[j] = np.dot(x[j], r) / n
                excess = abs(gradient[j]) - penalty if b[j] == 0 else abs(gradient[j] - penalty * np.sign(b[j]))
                worst = max(worst, excess)
                if b[j] != 0 or excess > 0:
                    is_active[j] = True
            if worst <= tolerance or n_passes >= most_passes:
                break
            for j in range(q):
                if is_active[j]:
                    curvature[j] = 0.0
                    for i in range(n):
                        curvature[j] += x[j, i] * x[j, i] * w[i] / n
            total = w.sum()
            while n_passes < most_passes:  # minimise the quadratic model over the active set
                n_passes += 1
                move = r.sum() / total
                b0 += move
                for i in range(n):
                    r[i] -= move * w[i]
                largest = abs(move) * total / n
                for j in range(q):
                    if not is_active[j]:
                        continue
                    slope = np.dot(x[j], r) / n + curvature[j] * b[j]
                    after = np.sign(slope) * max(0.0, abs(slope) - penalty) / curvature[j]
                    move = after - b[j]
                    if move != 0:
                        b[j] = after
                        for i in range(n):
                            r[i] -= move * w[i] * x[j, i]
                        largest = max(largest, abs(move) * curvature[j])
                if largest <= 0.1 * tolerance:
                    break
            eta[:] = b0
            for j in range(q):
                if b[j] != 0:
                    for i in range(n):
                        eta[i] += b[j] * x[j, i]
        intercepts[k], coefficients[k], violations[k] = b0, b, worst
        log_likelihoods[k] = (y * eta - np.logaddexp(0.0, eta)).sum()
    return intercepts, coefficients, log_likelihoods, violations


def fit_isingfit(codes: NDArray[np.uint8], gamma: float = GAMMA) -> Regressions:
    """Regress each variable on the others, with the penalty that has the least EBIC.

    Parameters
    ----------
    codes : ndarray of shape (n, p)
        Rows of zeros and ones. A column that does not vary has no coefficients, as in IsingFit.
    gamma : float
        What EBIC adds for the choice among sets of neighbours.
    """
    x = codes.T.astype(np.float64)
    mean, deviation = x.mean(axis=1), x.std(axis=1)
    varies = np.flatnonzero(deviation > 0)
    p, n = x.shape
    scaled = (x[varies] - mean[varies, None]) / deviation[varies, None]
    intercepts, found = np.where(mean > 0.5, 20.0, -20.0), np.zeros((p, p))
    for place, i in enumerate(varies):
        others = np.delete(np.arange(len(varies)), place)
        own = np.ascontiguousarray(scaled[others])
        largest = np.abs(own @ (x[i] - mean[i])).max(initial=0.0) / n
        penalties = max(largest, 1e-12) * RATIO ** np.arange(N_PENALTIES)
        b0, b, log_likelihood, violation = descend(own, x[i], penalties, TOLERANCE, MOST_PASSES)
        size = np.count_nonzero(b, axis=1)
        ebic = -2 * log_likelihood + size * np.log(n) + 2 * gamma * size * np.log(max(1, len(others)))
        k = int(np.argmin(ebic))
        if violation[k] > TOLERANCE:
            raise RuntimeError(f"The regression of variable {i} is not at its optimum: {violation[k]:.2g}.")
        columns = varies[others]
        found[i, columns] = b[k] / deviation[columns]
        intercepts[i] = b0[k] - found[i, columns] @ mean[columns]
    return Regressions(intercepts, found)


def fit_cross_validated(codes: NDArray[np.uint8]) -> Regressions:
    """Regress each variable on the others by scikit-learn, with the L1 penalty whose folds have the least log loss."""
    p = codes.shape[1]
    intercepts, found = np.zeros(p), np.zeros((p, p))
    for i in range(p):
        others = np.delete(np.arange(p), i)
        regression = LogisticRegressionCV(
            l1_ratios=(1.0,),
            solver=SOLVER,
            max_iter=MOST_SAGA_PASSES,
            scoring="neg_log_loss",
            random_state=0,
            use_legacy_attributes=False,
        )
        n_rare = min(codes[:, i].sum(), len(codes) - codes[:, i].sum())
        if n_rare < N_FOLDS:  # a fold could lack a level, which scikit-learn refuses
            intercepts[i] = np.log((codes[:, i].sum() + 0.5) / (len(codes) - codes[:, i].sum() + 0.5))
            continue
        regression.fit(codes[:, others].astype(np.float64), codes[:, i])
        found[i, others], intercepts[i] = regression.coef_[0], regression.intercept_[0]
    return Regressions(intercepts, found)
