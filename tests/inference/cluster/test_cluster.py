"""Draws on a cluster of two processes: the same bits as on this machine, also where one of them is killed."""

import os
import pickle
import signal
import threading
import time

import distributed
import numpy as np
import pytest
from sklearn.base import clone

import sparsefield as sf
from sparsefield import _deadline
from sparsefield.certificates import coalescence
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws
from sparsefield.inference import Cluster, Cpu, _draws
from sparsefield.inference.cluster import _tasks as tasks
from sparsefield.inference.cluster._workers import Workers
from sparsefield.model import as_theta
from support.problems import make_table
from support.zoo import random_field

BINARY = make_field(20, seed=1)
LEVELS = random_field([3, 2, 4, 3, 2], seed=2, scale=0.5)
DRAWN = {"solver": sf.Newton(schedule=BestDraws(max_states=0), n_chains=3000, max_iter=4), "seed": 1}
SECONDS = 60  # after which a cluster is taken to hang


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def cluster(client):
    """Two workers, also after a test has killed one of them; a cluster that hangs is a failure."""

    def give_up(*_):
        raise TimeoutError("The cluster hangs.")

    client.wait_for_workers(2, timeout=SECONDS)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield Cluster(client)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def kill(client, part):
    """Kill the worker that holds a part."""
    distributed.wait([part])
    address = client.who_has([part])[part.key][0]
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)


def assert_same(first, second):
    assert first.dtype == second.dtype
    assert first.shape == second.shape
    assert first.tobytes() == second.tobytes()


def look_at_chains(chains):
    return [chains.moments().pair, chains.means(), chains.codes(), chains.codes(600)]


def look_at_draws(draws, n_slots, patch):
    rng = np.random.default_rng(1)
    move = rng.normal(size=(n_slots, n_slots))
    move = np.where(np.abs(move) < 1, 0.0, move)
    move += move.T
    values = draws.along(move)
    counts, scale, means = draws.second_moments(*np.triu_indices(n_slots))
    a, b = np.triu_indices(n_slots)
    starts, columns = np.arange(0, 3 * len(a) + 1, 3), rng.integers(0, len(a), 3 * len(a)).astype(np.int32)
    near, _, near_means = draws.near_moments(a, b, starts, columns)
    patch.setattr(_draws, "_MOST_EXACT", 0)
    roughly, error = draws.project_roughly(values)
    patch.undo()
    return [
        *(values, counts, np.array(scale), means, draws.project(values), np.array(draws.reweight(values))),
        *(near, near_means, roughly, np.array(error), draws.project_onto(values, a, b)),
    ]


@pytest.mark.parametrize(("n_parts", "model", "n"), [(2, BINARY, 700), (11, BINARY, 30_000), (11, LEVELS, 20_000)])
def test_chains_bounds_and_draws_have_the_same_bits_on_a_cluster(cluster, n_parts, model, n, monkeypatch):
    if n_parts > 2:
        monkeypatch.setattr(Workers, "find_places", lambda own: (list(own.client.nthreads()) * n_parts)[:n_parts])
    n_slots, backward = model.domain.n_slots, range(model.domain.n_variables)[::-1]
    found, patch = [], pytest.MonkeyPatch()
    for backend in (Cpu(1), cluster):
        chains = backend.chains(model.domain, n, seed=3)
        chains.sweep(backend.prepare(model), 5)
        before = chains.copy()
        chains.sweep(backend.prepare(model, order=backward), 2)
        bounds = backend.bounding_chains(model.domain, n, seed=4)
        bounds.sweep(backend.prepare(model, n_planes=2), 3)
        draws, run = backend.draw(model, n, seed=5, max_sweeps=1000)
        swept = draws.copy()
        swept.sweep(backend.prepare(model), 1)
        found.append(
            [
                *look_at_chains(before),
                *look_at_chains(chains),
                np.array([bounds.n_open, bounds.n_sweeps, chains.n_sweeps]),
                bounds.open_counts(),
                *look_at_chains(draws),
                *look_at_draws(draws.draws(), n_slots, patch),
                swept.codes(),
                np.array(list(vars(run).values())),
            ]
        )
    assert 0 < found[0][8][0] < n  # some bounds are open and some are not
    for here, there in zip(*found, strict=True):
        assert_same(np.ascontiguousarray(here), np.ascontiguousarray(there))


def test_every_worker_has_its_part(client, cluster):
    for n_sweeps in range(1, 6):  # dask learns how long tasks take, and what is moved
        drawn, _ = cluster.draw(BINARY, 30_000, seed=n_sweeps, max_sweeps=1000)
        drawn.sweep(cluster.prepare(BINARY), n_sweeps)
        distributed.wait(drawn._parts)
        assert {client.who_has([part])[part.key][0] for part in drawn._parts} == set(client.nthreads())


def test_what_is_not_made_by_workers_is_computed_from_states_that_are_sent(cluster):
    here, there = (backend.draw(BINARY, 5000, seed=5, max_sweeps=1000)[0].draws() for backend in (Cpu(1), cluster))
    assert_same(np.ascontiguousarray(here.codes()), np.ascontiguousarray(there.codes()))
    a, b = np.triu_indices(len(BINARY.main))
    values = here.along(BINARY.interactions)
    assert_same(here.project_onto(values, a, b), there.project_onto(values, a, b))


def test_certify_and_coalescence_have_the_same_bits_on_a_cluster(cluster):
    table = make_table(12, 500)
    fit = sf.learn(table, 0.05, seed=1)
    here, there = (
        sf.certify(fit, table, n_draws=20_000, max_states=0, device=own).optimality for own in (None, cluster)
    )
    assert here == there
    here, there = (coalescence(BINARY, 30, 4000, seed=1, order=range(20)[::-1], device=own) for own in (None, cluster))
    assert here.bias == there.bias
    assert_same(here.pair, there.pair)
    assert here.bias != coalescence(BINARY, 30, 4000, seed=1, device=cluster).bias  # the order counts


def test_estimators_and_samples_take_a_cluster(cluster):
    model = make_field(6, strength=(0.5, 1.0), seed=1)
    for method in ("gibbs", "perfect"):
        here, there = (model.sample(2000, method=method, seed=1, device=own) for own in (None, cluster))
        assert_same(np.asarray(here), np.asarray(there))
    given = {"solver": sf.Newton(schedule=BestDraws(max_states=0), max_iter=2), "gap": 0.5, "random_state": 1}
    mrf = sf.SparseMRF(0.05, device=cluster, **given)
    assert clone(mrf).device is cluster
    mrf.fit(here)
    assert_same(mrf.interactions_, sf.SparseMRF(0.05, **given).fit(here).interactions_)
    kept = pickle.loads(pickle.dumps(mrf))  # with whatever client there is then
    assert_same(kept.sample(100, random_state=1, device=kept.device).codes, mrf.sample(100, random_state=1).codes)


def count_sweeps(client):
    return client.run_on_scheduler(lambda dask_scheduler: sum("sweep" in key for key in dask_scheduler.tasks))


def wait_until(client, condition):
    limit = time.monotonic() + 10
    while not condition(count_sweeps(client)):
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.mark.parametrize("way", ["time", "interrupt"])
def test_an_interrupt_takes_tasks_back(client, cluster, way):
    n_before = count_sweeps(client)
    chains, scan = cluster.chains(BINARY.domain, 30_000, seed=1), cluster.prepare(BINARY)
    chains.sweep(scan, 100_000)
    wait_until(client, lambda n: n > n_before + 20)
    if way == "time":
        with _deadline.until(time.perf_counter() + 0.3), pytest.raises(_deadline.OutOfTimeError):
            chains.moments()
    else:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            chains.moments()
    wait_until(client, lambda n: n <= n_before)
    assert cluster.chains(BINARY.domain, 600, seed=1).moments().n == 600


def test_sums_of_many_parts_are_made_by_workers(client):
    workers = Workers(client)
    assert workers.cut(40).tolist() == [0, 20, 40]
    parts = workers.call_each(np.arange, list(range(1, 3)) * 20)
    assert workers.add_up([workers.call(np.full, 3, k) for k in range(70)]).tolist() == [2415] * 3
    assert [len(part) for part in workers.collect(parts)] == [1, 2] * 20


def test_a_task_cannot_spread_its_draws_over_its_own_workers(client):
    with pytest.raises(RuntimeError, match="spread either fits or the draws"):
        client.submit(lambda: Cluster().chains(BINARY.domain, 10, seed=1)).result()


def test_tasks_leave_what_they_are_given_as_it_is():
    chains = tasks.make_chains((1, 3), BINARY.domain, 2000, 1)
    before = chains.codes().copy()
    swept = tasks.sweep(chains, tasks.SentField.of(BINARY), 3)
    assert_same(np.ascontiguousarray(chains.codes()), np.ascontiguousarray(before))
    assert not np.array_equal(swept.codes(), before)
    again = pickle.loads(pickle.dumps(swept))
    again.sweep(Cpu().prepare(BINARY), 2)
    swept.sweep(Cpu().prepare(BINARY), 2)
    assert_same(np.ascontiguousarray(swept.codes()), np.ascontiguousarray(again.codes()))


class Mortal(Cluster):
    """A cluster one of whose workers is killed once the second draws of a fit are there."""

    n_asked = 0

    def draw(self, *arguments, **options):
        found = super().draw(*arguments, **options)
        object.__setattr__(self, "n_asked", self.n_asked + 1)
        if self.n_asked == 2:
            kill(self._workers.client, found[0]._parts[0])
        return found


def assert_same_fit(first, second):
    assert_same(as_theta(first.model), as_theta(second.model))
    assert first.optimality == second.optimality
    assert first.status.sentence == second.status.sentence


def test_a_fit_has_the_same_bits_where_a_worker_is_killed_in_the_middle(client, cluster):
    here, there = (backend.chains(BINARY.domain, 30_000, seed=3) for backend in (Cpu(1), cluster))
    for chains, backend in ((here, Cpu(1)), (there, cluster)):
        chains.sweep(backend.prepare(BINARY), 3)
        chains.sweep(backend.prepare(BINARY), 4)
    assert there.moments().n == 30_000
    table, workers = make_table(12, 500), set(client.nthreads())
    plain, spread, mortal = (
        sf.learn(table, 0.05, device=backend, certify=True, **DRAWN) for backend in (Cpu(), cluster, Mortal(client))
    )
    assert set(client.nthreads()) != workers
    assert_same_fit(plain, spread)
    assert_same_fit(plain, mortal)
    assert spread.settings["device"] == "Cluster(n_threads=None)"
    # Chains that stood on the worker before are made again, from their seed on.
    assert_same(np.ascontiguousarray(here.codes()), np.ascontiguousarray(there.codes()))


def end():
    os._exit(1)


def test_work_that_ends_its_worker_is_given_up_with_a_sentence(client):
    client.wait_for_workers(1, timeout=SECONDS)
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    workers = Workers(client)
    with pytest.raises(RuntimeError, match="every worker that made them was lost"):
        workers.collect([workers.call(end)])
