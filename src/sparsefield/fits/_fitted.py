"""Whatever has a fit: the fit itself, or an estimator that keeps one."""

from __future__ import annotations

from typing import Any, Protocol

from sparsefield.fits._fit import Fit
from sparsefield.model import PairwiseMRF


class Fitted(Protocol):
    """What keeps its fit, as estimators do once they are fitted."""

    @property
    def fit_(self) -> Fit:
        """The fit."""
        ...


def as_fit(fitted: Fit | Fitted) -> Fit:
    """Return the fit of an estimator; a fit is its own.

    Parameters
    ----------
    fitted : Fit or estimator
        A fit, or what has one as `fit_`.

    Raises
    ------
    ValueError
        Where an estimator was not fitted.
    TypeError
        Where something has no fit.

    Examples
    --------
    >>> import sparsefield as sf
    >>> from sparsefield.fits import as_fit
    >>> table = sf.datasets.make_chain(3, seed=1).sample(100, method="perfect", seed=1)
    >>> mrf = sf.SparseMRF(0.05, random_state=1).fit(table)
    >>> as_fit(mrf) is as_fit(mrf.fit_) is mrf.fit_
    True
    """
    if isinstance(fitted, Fit):
        return fitted
    found = getattr(fitted, "fit_", None)
    if isinstance(found, Fit):
        return found
    raise _without_fit(fitted)


def as_model(fitted: PairwiseMRF | Fit | Fitted) -> PairwiseMRF:
    """Return the field of a fit or of an estimator; a field is its own."""
    return fitted if isinstance(fitted, PairwiseMRF) else as_fit(fitted).model


def _without_fit(odd: Any) -> Exception:
    """Say what to give instead of something that has no fit."""
    kind = type(odd).__name__
    if isinstance(odd, PairwiseMRF):
        return TypeError("A PairwiseMRF has no fit: give a Fit, or an estimator that is fitted.")
    for name, written in (("best_estimator_", ".best_estimator_"), ("steps", "[-1]")):  # a search, a pipeline
        if hasattr(odd, name):
            return TypeError(f"This {kind} holds its estimator: give {written} of it, once it is fitted.")
    is_fitted = getattr(odd, "__sklearn_is_fitted__", None)
    if is_fitted is not None and not is_fitted():
        return ValueError(f"This {kind} is not fitted yet: call fit with a table first.")
    return TypeError(f"This {kind} has no fit: give a Fit, or an estimator that is fitted.")
