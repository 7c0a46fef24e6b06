"""What all estimators of fields have in common: tables in, a model out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from sparsefield.data import Table, listed
from sparsefield.estimators._answers import FieldAnswers
from sparsefield.fits import Fit
from sparsefield.fitting import Options, make_solver
from sparsefield.learning import Alpha, Chosen, is_rule, seed_of
from sparsefield.network import make_graph
from sparsefield.objective import Penalty
from sparsefield.resampling import Asked
from sparsefield.selection import Choice, Objective
from sparsefield.structure import Structure
from sparsefield.tables import Ordinal, encode, open_rows

_OPTIONS = {own.name for own in fields(Options)}


class FieldEstimator(FieldAnswers, BaseEstimator):  # type: ignore[misc]
    """What all estimators of fields have in common: tables in, a model out."""

    _ways_with_missing: tuple[str, ...] = ("zero", "drop", "error")
    _objective: Objective = "likelihood"
    alpha: Alpha
    missing: str
    ordinal: Ordinal

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, as scikit-learn does; those of a solver that a word names too (`solver__tol`)."""
        solver = getattr(self, "solver", None)
        if isinstance(solver, str) and any(name.startswith("solver__") for name in params):
            params = {"solver": make_solver(solver), **params}
        for name in params:
            if name.startswith("alpha__") and not hasattr(params.get("alpha", self.alpha), "set_params"):
                raise ValueError(f"alpha is {self.alpha!r}, which has no parameters: use a rule, such as EBIC().")
        return super().set_params(**params)

    def ask_for_fits(self, data: Any) -> Asked:
        """Return what is asked of the fits of resamples of a table: that of a fit, with its penalty if there is one."""
        given, known = self.get_params(deep=False), getattr(self, "alpha_", None)
        is_chosen = isinstance(self.alpha, str) or is_rule(self.alpha)
        alpha = known if is_chosen and known is not None else self.alpha
        return Asked(
            data if isinstance(data, Table) else encode(data, ordinal=self.ordinal),
            alpha,
            self._objective,
            given.get("random_state"),
            self._name_options(),
            given["progress"],
        )

    def _name_options(self) -> dict[str, Any]:
        """Return the options of fits by name."""
        return {name: value for name, value in self.get_params(deep=False).items() if name in _OPTIONS}

    def _check_input(self, X: Any) -> Any:
        """Refuse what scikit-learn's users know to be wrong, and take note of the columns."""
        if isinstance(X, Table):
            if self.ordinal is not None:
                raise ValueError("ordinal is for tables that are read here: give it to encode, which made this one.")
            self._forget_names()
            return X
        checked = _check_array(X, self.missing, self._ways_with_missing)
        if hasattr(X, "shape"):
            _check_feature_names(self, X, reset=True)
            _check_n_features(self, X, reset=True)
        else:
            self._forget_names()
        return checked if self.ordinal is None else open_rows(checked, missing=self.missing, ordinal=self.ordinal)

    def _forget_names(self) -> None:
        """Forget the columns of a frame that it was fitted to before, as scikit-learn does where arrays come in."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        """Say whether there is a model: names of columns are noted before, and stay where a fit fails."""
        return hasattr(self, "model_")

    def _store(self, fit: Fit, **more: Any) -> None:
        own = {"estimator": type(self).__name__, **self.get_params(deep=False)}
        self.fit_ = replace(fit, settings={**own, **fit.settings, **more})
        self.model_ = fit.model
        self.n_features_in_ = fit.model.domain.n_variables
        self.main_effects_ = fit.model.main
        self.interactions_ = fit.model.interactions
        self.trace_ = fit.trace
        self.status_ = fit.status
        self.n_iter_ = len(fit.steps)
        self.certificate_ = fit.steps[-1].certificate if fit.steps else None
        if self.fit_.is_serious:
            warnings.warn(fit.status.sentence, ConvergenceWarning, stacklevel=3)

    def _store_choice(self, chosen: Chosen) -> None:
        """Keep the penalty, if edges are by one, and why they or it were chosen if they were."""
        assert not isinstance(chosen, Penalty)
        self.choice_ = chosen if isinstance(chosen, Choice | Structure) else None
        if isinstance(chosen, Structure):
            self.alpha_ = None
        else:
            self.alpha_ = chosen.alpha if isinstance(chosen, Choice) else float(chosen)

    def sample(self, n: int, *, random_state: Any = None, **options: Any) -> Table:
        """Draw from the fitted field.

        Parameters
        ----------
        n : int
            How many draws.
        random_state : int, RandomState, Generator or None
            Where the random numbers start; anywhere unless it or `seed` is given.
        **options
            As for `PairwiseMRF.sample`.

        Returns
        -------
        Table
            The draws: `to_pandas()`, `to_frame()` and `to_numpy()` have them with the levels of the table that was
            learned from.

        Examples
        --------
        >>> import sparsefield as sf
        >>> table = sf.encode([["no", 1], ["yes", 2], ["yes", 2], ["no", 1], ["yes", 1]])
        >>> mrf = sf.SparseMRF(0.01, random_state=1).fit(table)
        >>> mrf.sample(3, random_state=1).to_frame().rows()
        [('yes', 2), ('yes', 2), ('no', 1)]
        """
        check_is_fitted(self)
        if random_state is not None:
            if options.get("seed") is not None:
                raise ValueError("random_state and seed are both given: give one of them.")
            options["seed"] = seed_of(random_state)
        table: Table = self.model_.sample(n, **options)
        return table

    def graph(self, nodes: Mapping[str, Mapping[str, Any]] | None = None) -> nx.Graph:
        """Return the network of the fitted field: an edge with a signed weight for each pair that interacts.

        Parameters
        ----------
        nodes : mapping of variable to attributes, optional
            Further attributes of nodes, such as a group.
        """
        check_is_fitted(self)
        return make_graph(self.fit_, nodes)

    # Notebooks ask for a bundle first, and other programs for HTML; scikit-learn's diagram comes first in both.
    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{self._show_network()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] += self._show_network()
        return shown

    def _show_network(self) -> str:
        """Return the network as notebooks show it; nothing before there is one."""
        return self.fit_._repr_html_() if self.__sklearn_is_fitted__() else ""

    def __sklearn_tags__(self) -> Any:
        """Say that columns hold categories, and whether some of their cells may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.non_deterministic = False
        return tags


def _check_array(X: Any, missing: str, ways: tuple[str, ...]) -> Any:
    """Refuse what no table of levels can be made of, in the words that scikit-learn's users know."""
    if issparse(X):
        raise TypeError("Sparse data are not supported: use X.toarray().")
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported: give levels as whole numbers or text.")
        if X.ndim == 2 and X.shape[1] == 0:
            raise ValueError(f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
        if X.dtype.kind == "f":
            if np.isinf(X).any():
                raise ValueError("X contains inf: give levels as whole numbers or text.")
            if missing == "error" and np.isnan(X).any():
                raise ValueError(f"X contains NaN: use missing={listed(ways[:-1])} to have them filled or dropped.")
    return X
