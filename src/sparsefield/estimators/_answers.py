"""What fitted estimators of fields say of tables: how probable rows are, and what their missing cells may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from sparsefield.data import Table, take_counted
from sparsefield.inference import OutOfReachError
from sparsefield.learning import seed_of
from sparsefield.model import ImputeMethod, LogPartition, PairwiseMRF
from sparsefield.pseudolikelihood import pseudo_log_likelihoods
from sparsefield.tables import encode


class FieldAnswers:
    """What a fitted field says of the rows of a table: scores, probabilities of cells, and missing values filled.

    Columns must be those of the fit, and levels must be known from there.
    """

    model_: PairwiseMRF

    @property
    def score_kind_(self) -> str:
        """What `score` returns: a log-likelihood, exact or as far as simulation tells, or a pseudo-log-likelihood.

        "log-likelihood" where the log-partition function is exact; "log-likelihood by draws" or "log-likelihood by
        annealing" where it is estimated (`PairwiseMRF.log_partition`); "pseudo-log-likelihood" where it is out of
        reach. It depends on the fitted field alone, so that the scores of tables can be compared, with missing cells
        or without. Where sums over the missing cells of a row must be estimated, a warning says so.
        """
        check_is_fitted(self)
        found = self._find_log_partition()
        if found is None:
            return "pseudo-log-likelihood"
        by = {"exact": "", "draws": " by draws", "annealed": " by annealing"}
        return f"log-likelihood{by[found.method]}"

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of the observed cells of a table under the fitted field.

        Where the log-partition function of the field is estimated, it is with a fixed seed: all scores of one fit have
        the same simulation error, a few hundredths of a nat. Where that is out of reach the score is the mean
        pseudo-log-likelihood; `score_kind_` says which, and `score_samples` what they are.

        Parameters
        ----------
        X : Table, array, pandas or polars data frame, or path
            Observations, one row each; cells may be missing.
        y : None
            Not used; scikit-learn's convention.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts in the mean.

        Raises
        ------
        OutOfReachError
            As for `score_samples`.
        """
        table, weights = take_counted(self._encode_known(X), sample_weight)
        return float(np.average(self._score_rows(table), weights=weights))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-likelihood of the observed cells of each row under the fitted field.

        It is the logarithm of the probability of the observed cells, that is of the sum of the probabilities of all
        states that agree with them (`PairwiseMRF.log_prob_observed`). Rows that miss so many values that these cannot
        be summed out exactly have an estimate, and a warning tells its standard error. Where `score_kind_` is
        "pseudo-log-likelihood", it is the sum over the observed cells of the log-probability of each given the other
        observed cells of the row; missing ones are summed out there too. A row without observed cells has 0.

        Parameters
        ----------
        X : Table, array, pandas or polars data frame, or path
            Observations, one row each; cells may be missing.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        OutOfReachError
            Where the missing values of a row interact so much that they can neither be summed out nor drawn; of a
            pseudo-log-likelihood, that they cannot be summed out.
        """
        return self._score_rows(self._encode_known(X))

    def predict_proba(self, X: Any, variables: int | str | Sequence[int | str] | None = None) -> NDArray[np.float64]:
        """Return the probabilities of the levels of variables, each given all other observed cells of the row.

        They are probabilities of one variable at a time, not of several together: the own cell of a variable does not
        matter and may be missing, and the cells of the other variables asked for do. Cells that are missing are
        summed out. `impute` has missing values together.

        Parameters
        ----------
        X : Table, array, pandas or polars data frame, or path
            Observations, one row each; cells may be missing. A column that is not known at all can be missing in every
            row.
        variables : name or number, sequence of them, optional
            Which variables; all unless given.

        Returns
        -------
        ndarray of shape (n_rows, n_levels)
            A column for each level, as `model_.domain.levels` has them in order. With several variables their columns
            follow each other, as many for each as it has levels.

        Raises
        ------
        OutOfReachError
            Where the missing values of a row interact so much that they cannot be summed out.

        Examples
        --------
        >>> import sparsefield as sf
        >>> data = [["rain", "umbrella"]] * 6 + [["sun", "hat"]] * 7 + [["rain", "hat"], ["sun", "umbrella"]]
        >>> mrf = sf.SparseMRF(alpha=0.01).fit(data)
        >>> mrf.model_.domain.levels[1]
        ('hat', 'umbrella')
        >>> mrf.predict_proba([["rain", None], ["sun", None], [None, None]], "x1").round(2)
        array([[0.16, 0.84],
               [0.86, 0.14],
               [0.53, 0.47]])
        """
        table, domain = self._encode_known(X), self.model_.domain
        if variables is None:
            variables = range(domain.n_variables)
        elif isinstance(variables, int | np.integer | str):
            variables = [variables]
        chosen = [domain.index_of(variable) for variable in variables]
        if not chosen:
            raise ValueError("variables is empty: name at least one variable, or leave it out for all of them.")
        return np.concatenate([self.model_.conditional(i, table.codes) for i in chosen], axis=1)

    def impute(self, X: Any, method: ImputeMethod = "draws", *, random_state: Any = None) -> Table:
        """Fill the missing cells of a table given the observed cells of their rows.

        Parameters
        ----------
        X : Table, array, pandas or polars data frame, or path
            Observations, one row each.
        method : "draws" or "most probable"
            One draw for each row from the joint law of its missing values, or the values that are most probable
            together; as for `PairwiseMRF.impute`.
        random_state : int, RandomState, Generator or None
            Where the random numbers of draws start. Several make several completed tables (multiple imputation).

        Returns
        -------
        Table
            All rows, without missing values; `to_frame()` has them as they came in.

        Raises
        ------
        OutOfReachError
            Where the most probable values cannot be had. Draws can always be had, by Gibbs chains and with a warning
            where exact ones cannot.
        """
        codes = self._encode_known(X).codes
        seed = seed_of(random_state)
        return self.model_.impute(codes, method, seed=seed, **self._machine())

    def _encode_known(self, X: Any) -> Table:
        """Encode a table with the levels of the fit; refuse other columns in the words of scikit-learn."""
        check_is_fitted(self)
        if isinstance(X, Table) and X.domain == self.model_.domain:
            return X
        if hasattr(X, "shape") and not isinstance(X, Table):
            if len(X.shape) == 1:
                raise ValueError("X has one dimension. Reshape your data: X.reshape(1, -1) is a table of one row.")
            if hasattr(self, "feature_names_in_"):  # without them names are compared with those of the domain
                _check_feature_names(self, X, reset=False)
            _check_n_features(self, X, reset=False)
        return encode(X, domain=self.model_.domain)

    def _score_rows(self, table: Table) -> NDArray[np.float64]:
        found = self._find_log_partition()
        if found is None:
            return pseudo_log_likelihoods(self.model_, table)
        if table.n_missing.any():
            return self.model_.log_prob_observed(table.codes, log_partition=found, **self._machine())
        return self.model_.log_prob(table.codes, log_partition=found)

    def _find_log_partition(self) -> LogPartition | None:
        """Return the log-partition function of the fitted field, found once; None where it is out of reach."""
        known: tuple[PairwiseMRF, LogPartition | None] | None = getattr(self, "_known_partition", None)
        if known is None or known[0] is not self.model_:
            try:
                found = self.model_.log_partition(**self._machine())
            except OutOfReachError:
                found = None
            known = self._known_partition = (self.model_, found)
        return known[1]

    def _machine(self) -> dict[str, Any]:
        """Return the number of threads and the device that the estimator was given, if it takes them."""
        return {name: getattr(self, name, None) for name in ("n_threads", "device")}
