"""Data frames and arrays of Dask: counted by workers, the same counts as in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import sparsefield as sf
from sparsefield.data import count_table
from sparsefield.tables import encode


def make_pandas(n=600):
    rng = np.random.default_rng(3)
    word = np.where(np.arange(n) < n // 2, "b", rng.choice(["a", "b", "c"], n))
    return pd.DataFrame(
        {
            "bit": rng.integers(0, 2, n),
            "word": word,  # levels that the first partitions do not have
            "size": pd.Categorical(rng.choice(["s", "m", "l"], n), categories=["s", "m", "l"], ordered=True),
            "kind": pd.Categorical(rng.choice(["z", "y"], n), categories=["z", "y"]),
        }
    )


@pytest.fixture(autouse=True)
def one_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def check_same(counted, table):
    assert counted.domain == table.domain
    np.testing.assert_array_equal(counted.counts.pair, count_table(table).pair)
    assert counted.n_rows == table.n_rows


@pytest.mark.parametrize("n_partitions", [1, 5, 20])
def test_partitions_of_a_frame_are_one_table(n_partitions):
    frame = make_pandas()
    counted = sf.tables.count_data(dd.from_pandas(frame, npartitions=n_partitions))
    check_same(counted, encode(frame))
    assert counted.sample.n_rows == 600


def test_categories_that_partitions_do_not_share_are_in_the_order_of_the_alphabet():
    frame = make_pandas()
    unknown = dd.from_pandas(frame, npartitions=4)
    unknown["kind"] = unknown["kind"].cat.as_unknown()
    frame["kind"] = frame["kind"].astype(str)
    check_same(sf.tables.count_data(unknown), encode(frame))


@pytest.mark.parametrize("chunks", [(100, 2), (600, 5), ((1, 0, 599), (3, 2))])
def test_blocks_of_an_array_are_one_table(chunks):
    codes = np.random.default_rng(4).integers(0, 2, (600, 5)).astype(np.uint8)
    counted = sf.tables.count_data(da.from_array(codes, chunks=chunks))
    check_same(counted, encode(codes))
    np.testing.assert_array_equal(counted.sample.codes, codes)


def test_errors_name_partition_row_and_column():
    frame = make_pandas()
    frame["word"] = frame["word"].astype(object)
    frame.loc[431, "word"] = None
    lazy = dd.from_pandas(frame, npartitions=4)
    with pytest.raises(sf.TableError, match=r"Partition 2: Column 'word' has a missing value in row 131") as error:
        sf.learn(lazy, 0.05)
    assert error.value.column == "word"
    dropped = sf.tables.count_data(lazy, missing="drop")
    check_same(dropped, encode(frame).drop_missing())
    with pytest.raises(sf.TableError, match="3 dimensions"):
        sf.learn(da.zeros((2, 2, 2)), 0.1)


def test_estimators_take_collections():
    frame, codes = make_pandas(), np.random.default_rng(4).integers(0, 2, (600, 5)).astype(np.uint8)
    lazy, blocks = dd.from_pandas(frame, npartitions=3), da.from_array(codes, chunks=(200, 5))
    for data, whole in ((lazy, frame), (blocks, codes)):
        fits = [sf.SparseMRF(0.05, random_state=1).fit(own).fit_ for own in (data, whole)]
        np.testing.assert_array_equal(fits[0].model.interactions, fits[1].model.interactions)
        assert fits[0].settings["n_rows"] == 600
    assert list(sf.SparseMRF(0.05, random_state=1).fit(lazy).model_.domain.names) == list(frame.columns)


def test_two_processes_count_what_one_does():
    frame = make_pandas()
    lazy = dd.from_pandas(frame, npartitions=4)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster), dask.config.set(scheduler="distributed"):
        counted = sf.tables.count_data(lazy)
    check_same(counted, encode(frame))
