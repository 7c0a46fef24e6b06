"""What people do with estimators of scikit-learn: copy, store, search, chain, and give tables of any kind."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import check_is_fitted

import sparsefield as sf
from sparsefield.data import TableError
from support.problems import make_table

TABLE = make_table(5, 200)
FRAME = TABLE.to_frame().to_pandas()
WORDS = np.array(["no", "yes"])[TABLE.codes]
NAMES = TABLE.domain.names
ESTIMATORS = {
    "SparseMRF": sf.SparseMRF(0.05, random_state=1),
    "SparseMRF by a rule": sf.SparseMRF(sf.EBIC(alphas=[0.1, 0.05]), random_state=1),
    "PseudoLikelihood": sf.PseudoLikelihood(0.05),
}


@pytest.fixture(params=ESTIMATORS)
def mrf(request):
    return clone(ESTIMATORS[request.param])


def by_joblib(value, folder):
    joblib.dump(value, folder / "stored.joblib")
    return joblib.load(folder / "stored.joblib")


COPIES = {
    "pickle": lambda value, _: pickle.loads(pickle.dumps(value)),
    "joblib": by_joblib,
    "deepcopy": lambda value, _: copy.deepcopy(value),
}


@pytest.mark.parametrize("way", COPIES)
def test_fitted_estimators_survive_copies(mrf, way, tmp_path):
    again = COPIES[way](mrf.fit(FRAME), tmp_path)
    assert again is not mrf
    assert again.score(FRAME) == mrf.score(FRAME)
    np.testing.assert_array_equal(again.sample(20, seed=1), mrf.sample(20, seed=1))
    assert sf.edge_table(again).equals(sf.edge_table(mrf))
    fit = COPIES[way](mrf.fit_, tmp_path)
    assert (fit.steps, fit.status, fit.settings) == (mrf.fit_.steps, mrf.fit_.status, mrf.fit_.settings)
    np.testing.assert_array_equal(fit.model.interactions, mrf.model_.interactions)
    with pytest.raises(ValueError, match="read-only"):
        mrf.model_.interactions[0, 0] = 1.0


def test_clones_have_the_parameters_and_no_fit(mrf):
    again = clone(mrf.fit(FRAME))
    assert again.get_params() == mrf.get_params()
    assert not again.__sklearn_is_fitted__()
    assert again.set_params(missing="drop").missing == "drop"
    with pytest.raises(ValueError, match="Invalid parameter 'strength'"):
        again.set_params(strength=1.0)
    assert type(mrf).__name__ in mrf._repr_html_()


def test_an_estimator_whose_fit_failed_is_not_fitted(mrf):
    with pytest.raises(TableError, match="is continuous"):
        mrf.fit(FRAME + 0.5)
    with pytest.raises(NotFittedError):
        check_is_fitted(mrf)
    with pytest.raises(NotFittedError):
        mrf.sample(3)


def test_pipelines_and_searches_take_estimators(mrf):
    chain = make_pipeline(OrdinalEncoder().set_output(transform="pandas"), mrf).fit(pd.DataFrame(WORDS, columns=NAMES))
    assert chain[-1].feature_names_in_.tolist() == list(NAMES)
    assert chain.score(pd.DataFrame(WORDS, columns=NAMES)) == clone(mrf).fit(FRAME).score(FRAME)
    by_rule = isinstance(mrf.alpha, sf.EBIC)
    name, grid = ("alpha__alphas", [[0.4], [0.05]]) if by_rule else ("alpha", [0.4, 0.05])
    search = GridSearchCV(Pipeline([("mrf", mrf)]), {f"mrf__{name}": grid}, cv=3).fit(FRAME)
    assert search.best_params_ == {f"mrf__{name}": grid[1]}
    assert sf.edge_table(search.best_estimator_[-1]).height > 0


def test_other_columns_are_refused(mrf):
    mrf.fit(FRAME)
    with pytest.raises(ValueError, match="same order as they were in fit"):
        mrf.score(FRAME[list(reversed(NAMES))])
    with pytest.raises(ValueError, match="unseen at fit time"):
        mrf.score(FRAME.rename(columns={"x0": "other"}))
    mrf.fit(TABLE.codes)
    with pytest.raises(ValueError, match=r"X has 3 features, but \w+ is expecting 5 features as input"):
        mrf.score(TABLE.codes[:, :3])


@pytest.mark.parametrize("kind", ["table", "array", "lists"])
def test_names_of_another_frame_are_forgotten(mrf, kind):
    other = {"table": TABLE, "array": TABLE.codes, "lists": TABLE.codes.tolist()}[kind]
    assert mrf.fit(FRAME).feature_names_in_.tolist() == list(NAMES)
    assert not hasattr(mrf.fit(other), "feature_names_in_")
    assert mrf.n_features_in_ == 5
    assert np.isfinite(mrf.score(other))


TABLES = {
    "pandas, categories": pd.DataFrame(WORDS, columns=NAMES).astype("category"),
    "pandas, text": pd.DataFrame(WORDS, columns=NAMES),
    "pandas, nullable": FRAME.astype("Int64"),
    "pandas, booleans": FRAME.astype(bool),
    "pandas, floats": FRAME.astype(float),
    "polars": TABLE.to_frame(),
    "polars, Enum": pl.DataFrame(WORDS, schema=list(NAMES)).cast(pl.Enum(["no", "yes"])),
    "Arrow": TABLE.to_frame().to_arrow(),
    "lists": TABLE.codes.tolist(),
    "tuples of text": [tuple(row) for row in WORDS.tolist()],
    "rows by name": FRAME.to_dict("records"),
    "columns by name": FRAME.to_dict("list"),
    "columns by name, arrays": {name: FRAME[name].to_numpy() for name in NAMES},
    "numpy, text": WORDS,
    "numpy, objects": WORDS.astype(object),
    "numpy, booleans": TABLE.codes.astype(bool),
    "numpy, masked": np.ma.masked_array(TABLE.codes),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_any_kind_give_the_same_fit(kind):
    expected = clone(ESTIMATORS["SparseMRF"]).fit(TABLE)
    mrf = clone(ESTIMATORS["SparseMRF"]).fit(TABLES[kind])
    np.testing.assert_array_equal(mrf.interactions_, expected.interactions_)
    assert mrf.model_.domain.names == NAMES
    assert mrf.score(TABLES[kind]) == expected.score(TABLE)


def test_rows_may_lack_a_name():
    table = sf.encode([{"a": 1, "b": "x"}, {"b": "y", "a": 0}, {"a": 1}, {"c": True, "b": "x"}, {"c": False}])
    assert table.to_frame().to_dict(as_series=False) == {
        "a": [1, 0, 1, None, None],
        "b": ["x", "y", None, "x", None],
        "c": [None, None, None, True, False],
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"a": [1, 0, 1], "b": [0, 1]}, r"Column 'b' has 2 values, but 'a' has 3"),
        ({"a": [1, 0], "b": "xy"}, "Column 'b' is not a list of values"),
        ({"a": [1, 0], "b": 3}, "Column 'b' is not a list of values"),
        ({"a": [1, 0], "b": [[1, 2], [3]]}, "Column 'b' holds objects that are not text or numbers"),
        ({"a": [1, 0], 2: [0, 1]}, r"The column after 'a' has no name but 2"),
        ({}, "There are no columns"),
        ({"a": []}, "The table has no rows"),
        ([{}, {}], "There are no columns"),
    ],
)
def test_odd_columns_by_name_are_refused(data, said):
    with pytest.raises(TableError, match=said):
        sf.encode(data)
