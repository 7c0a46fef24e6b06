"""What a cluster that cannot be used says."""

import sys

import distributed
import pytest

from sparsefield.datasets import make_field
from sparsefield.inference import Cluster
from sparsefield.inference.cluster import _tasks as tasks
from sparsefield.inference.cluster._workers import _check_versions

DOMAIN = make_field(3, seed=1).domain


def test_what_is_no_client_is_refused():
    with pytest.raises(TypeError, match=r"client is of type str: use a dask.distributed.Client"):
        Cluster("localhost:8786")


def test_a_client_is_asked_for_once_draws_are():
    cluster = Cluster()
    with pytest.raises(ValueError, match="There is no cluster: give a"):
        cluster.chains(DOMAIN, 10, seed=1)


def test_without_dask_the_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'sparsefield\[dask\]'"):
        Cluster().chains(DOMAIN, 10, seed=1)


def test_a_cluster_without_workers_and_a_closed_client_are_refused():
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        cluster = Cluster(client)
        with pytest.raises(ValueError, match="The cluster has no workers"):
            cluster.chains(DOMAIN, 10, seed=1)
        with pytest.raises(ValueError, match="n_chains is 0"):
            cluster.chains(DOMAIN, 0, seed=1)
        other = cluster.prepare(make_field(4, seed=1))
        with pytest.raises(ValueError, match="no workers"):
            cluster.draw(make_field(3, seed=1), 10, seed=1, max_sweeps=100)
        assert other.n_planes == 1
    with pytest.raises(ValueError, match="The client is closed"):
        Cluster(client)


class Odd:
    """A client whose worker has another version of numpy."""

    def run(self, function):
        assert function is tasks.name_versions
        return {"tcp://far-away:1": {**tasks.name_versions(), "numpy": "1.0"}}


def test_workers_with_other_versions_are_refused():
    with pytest.raises(ValueError, match=r"tcp://far-away:1 has numpy 1.0, and this machine 2"):
        _check_versions(Odd())
