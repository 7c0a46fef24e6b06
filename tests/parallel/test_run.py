import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import distributed
import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import sparsefield as sf
from sparsefield import _threads
from sparsefield.parallel import run_pieces
from sparsefield.parallel._checkpoint import Checkpoint
from support import pieces_of_work
from support.pieces_of_work import (
    IDENTITY,
    N_PIECES,
    count_runs,
    fit,
    look_at_threads,
    make_table,
    square,
    square_counted,
)

# Workers that begin with two BLAS threads. They are the same for all tests, so that they are started once.
WAYS = {
    "one after the other": {"n_jobs": 1},
    "threads": {"backend": "threading", "n_jobs": 2},
    "processes": {"backend": "loky", "n_jobs": 2, "inner_max_num_threads": 2},
}


def assert_same_bits(results, expected):
    assert len(results) == len(expected)
    for result, other in zip(results, expected, strict=True):
        assert list(result) == list(other)
        for name, array in result.items():
            assert array.dtype == other[name].dtype
            assert array.shape == other[name].shape
            assert array.tobytes() == other[name].tobytes()


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def expected(table):
    """Fits one after the other, by a plain loop without the engine, with the one BLAS thread that it promises."""
    with threadpool_limits(1, user_api="blas"):
        plain = [fit(seed, 1, table) for seed in range(N_PIECES)]
    return [{name: np.asarray(value) for name, value in result.items()} for result in plain]


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

    client.wait_for_workers(2, timeout=60)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(180)
    yield client.cluster
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_results_are_in_the_order_of_the_pieces_and_are_arrays():
    def slower_first(piece, _n_threads):
        time.sleep(0.02 * (4 - piece))
        return square(piece, 1)

    for n_jobs in (None, 2):
        with joblib.parallel_config(backend="threading"):
            found = run_pieces(slower_first, range(5), identity=IDENTITY, n_jobs=n_jobs)
        assert [int(result["square"]) for result in found] == [0, 1, 4, 9, 16]
        assert [str(result["name"]) for result in found] == [f"piece {k}" for k in range(5)]
        assert all(isinstance(array, np.ndarray) for result in found for array in result.values())


def test_no_pieces_give_no_results(tmp_path):
    assert run_pieces(square, [], identity=IDENTITY, checkpoint=tmp_path) == []


@pytest.mark.parametrize("way", WAYS)
def test_fits_have_the_same_bits_in_other_processes_and_threads(table, expected, way):
    with joblib.parallel_config(**WAYS[way]):
        found = run_pieces(partial(fit, table=table), range(N_PIECES), identity=IDENTITY)
    assert_same_bits(found, expected)


def test_fits_have_the_same_bits_with_more_threads(table, expected):
    assert_same_bits(run_pieces(partial(fit, table=table), range(N_PIECES), identity=IDENTITY, n_threads=3), expected)


def test_fits_have_the_same_bits_on_a_cluster(cluster, table, expected):  # noqa: ARG001
    with joblib.parallel_config(backend="dask"):
        found = run_pieces(partial(fit, table=table), range(N_PIECES), identity=IDENTITY)
    assert_same_bits(found, expected)


@pytest.mark.parametrize("way", [*WAYS, "cluster"])
def test_pieces_do_not_ask_for_more_threads_than_there_are_processors(way, request, monkeypatch):
    if way == "cluster":
        request.getfixturevalue("cluster")
    elif way != "processes":  # these stay in this process, where processors can be made up
        monkeypatch.setattr(_threads, "available", lambda: 7)
    n_workers = 1 if way == "one after the other" else 2
    with threadpool_limits(2, user_api="blas"), joblib.parallel_config(**WAYS.get(way, {"backend": "dask"})):
        found = run_pieces(look_at_threads, range(12), identity=IDENTITY)
        after = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
    assert {int(result["n_threads"]) for result in found} == {max(1, _threads.available() // n_workers)}
    assert {int(result["blas"]) for result in found} == {1}
    assert after == 2  # the limit ends with the last piece


def test_processors_are_shared_by_as_many_pieces_as_there_are(monkeypatch):
    monkeypatch.setattr(_threads, "available", lambda: 8)
    with joblib.parallel_config(backend="threading"):
        found = run_pieces(look_at_threads, range(2), identity=IDENTITY, n_jobs=8)
        given = run_pieces(look_at_threads, range(2), identity=IDENTITY, n_jobs=8, n_threads=3)
    assert [int(result["n_threads"]) for result in found] == [4, 4]
    assert [int(result["n_threads"]) for result in given] == [3, 3]
    with pytest.raises(ValueError, match="n_threads is 0"):
        run_pieces(square, [1], identity=IDENTITY, n_threads=0)


def test_watch_hears_of_every_piece(tmp_path):
    said = []

    def watch(*arguments):
        said.append(arguments)

    run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path, watch=watch)
    run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path, watch=watch)
    assert [(n_done, n_all) for n_done, n_all, _ in said] == [(0, 3), (1, 3), (2, 3), (3, 3), (3, 3)]
    # The first piece may have compiled: it tells nothing of the others.
    assert said[0][2] is said[1][2] is None
    assert said[2][2] > 0
    assert said[3][2] == said[4][2] == 0


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    kept, runs, other = (tmp_path / name for name in ("kept", "runs", "other"))
    runs.mkdir()
    other.mkdir()
    arguments = [sys.executable, pieces_of_work.__file__, str(kept), str(runs)]
    process = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        while len(list(kept.glob("*.npz"))) < 3:
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL
    finished = {int(path.stem) for path in kept.glob("*.npz")}
    before = count_runs(runs)
    assert 3 <= len(finished) < 8

    found = run_pieces(partial(square_counted, folder=runs), range(8), identity=IDENTITY, checkpoint=kept)
    after = count_runs(runs)
    assert {piece for piece in after if after[piece] > before.get(piece, 0)} == set(range(8)) - finished
    assert all(after[piece] == 1 for piece in finished)
    assert_same_bits(found, run_pieces(partial(square_counted, folder=other), range(8), identity=IDENTITY))


@pytest.mark.parametrize(
    ("identity", "n_pieces", "said"),
    [
        ({"what": "fits", "alpha": 0.2}, 3, "alpha is 0.02 there and 0.2 here. Use another folder, or remove it."),
        (IDENTITY, 4, "pieces is 3 there and 4 here"),
        ({**IDENTITY, "seed": 1}, 3, "seed is not given there and 1 here"),
        ({"what": "fits"}, 3, "alpha is 0.02 there and not given here"),
    ],
)
def test_pieces_of_another_run_are_refused_with_what_differs(identity, n_pieces, said, tmp_path):
    run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path)
    with pytest.raises(ValueError) as refused:
        run_pieces(square, range(n_pieces), identity=identity, checkpoint=tmp_path)
    assert str(refused.value).startswith(f"Folder {str(tmp_path)!r} holds pieces of another run: {said}")


def test_pieces_of_another_version_are_refused(tmp_path):
    run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path)
    manifest = tmp_path / "run.json"
    known = json.loads(manifest.read_text(encoding="utf-8"))
    assert known["sparsefield"] == sf.__version__
    manifest.write_text(json.dumps({**known, "sparsefield": "0.0.1"}), encoding="utf-8")
    with pytest.raises(ValueError, match=f"sparsefield is 0.0.1 there and {sf.__version__} here"):
        run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path)


def test_folders_of_others_are_refused(tmp_path):
    (tmp_path / "letter.txt").touch()
    with pytest.raises(ValueError, match="is not empty"):
        run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path)
    with pytest.raises(NotADirectoryError, match="is a file"):
        run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path / "letter.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text('{"alpha": ', encoding="utf-8")
    with pytest.raises(ValueError, match="is damaged"):
        run_pieces(square, range(3), identity=IDENTITY, checkpoint=damaged)


def test_a_run_that_was_killed_before_it_said_what_it_is_can_begin_again(tmp_path):
    (tmp_path / ".run.json.0123").touch()
    assert len(run_pieces(square, range(3), identity=IDENTITY, checkpoint=tmp_path)) == 3


def test_a_damaged_piece_is_computed_anew(tmp_path):
    kept, runs = tmp_path / "kept", tmp_path / "runs"
    runs.mkdir()
    function = partial(square_counted, folder=runs)
    expected = run_pieces(function, range(3), identity=IDENTITY, checkpoint=kept)
    path = kept / "000001.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert_same_bits(run_pieces(function, range(3), identity=IDENTITY, checkpoint=kept), expected)
    assert count_runs(runs) == {0: 1, 1: 2, 2: 1}
    assert path.read_bytes()[:4] == whole[:4]

    # One piece under the index of another is damage too.
    path.write_bytes((kept / "000002.npz").read_bytes())
    assert_same_bits(run_pieces(function, range(3), identity=IDENTITY, checkpoint=kept), expected)

    # The file is cut, or a byte of it changed: what is read is the piece, or nothing.
    checkpoint = Checkpoint(kept, json.loads((kept / "run.json").read_text(encoding="utf-8")))
    cuts = [whole[:n] for n in range(0, len(whole), 3)]
    flips = [whole[:n] + bytes([whole[n] ^ 0xFF]) + whole[n + 1 :] for n in range(0, len(whole), 3)]
    n_damaged = 0
    for content in [*cuts, *flips]:
        path.write_bytes(content)
        result = checkpoint.read(1)
        n_damaged += result is None
        if result is not None:
            assert_same_bits([result], expected[1:2])
    assert n_damaged > len(cuts)  # all cuts, and most flips: some bytes of an archive mean nothing


@pytest.mark.parametrize("way", WAYS)
def test_errors_say_which_piece_it_was_and_finished_pieces_are_kept(way, tmp_path):
    function = partial(pieces_of_work.fail_at_two, folder=tmp_path)
    with joblib.parallel_config(**WAYS[way]), pytest.raises(sf.TableError, match="The table is empty") as raised:
        run_pieces(function, range(9), identity=IDENTITY, checkpoint=tmp_path)
    assert raised.value.__notes__[0].startswith("This was piece 2, counted from 0, of 9.")
    assert "fail_at_two" in raised.value.__notes__[0]
    assert not (tmp_path / "000002.npz").exists()
    assert len(list(tmp_path.glob("*.npz"))) < 8  # the rest was cancelled
    found = run_pieces(square, range(9), identity=IDENTITY, checkpoint=tmp_path)
    assert [int(result["square"]) for result in found] == [k**2 for k in range(9)]


def test_what_a_file_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="'model' of type object"):
        run_pieces(lambda _piece, _n_threads: {"model": object()}, [0], identity=IDENTITY)


def test_an_interrupt_is_raised_even_where_a_piece_returns_after_it(tmp_path):
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_pieces(pieces_of_work.interrupt_at_two, range(5), identity=IDENTITY, checkpoint=tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == ["000000.npz", "000001.npz"]
    assert signal.getsignal(signal.SIGINT) is handler
    found = run_pieces(square, range(5), identity=IDENTITY, checkpoint=tmp_path)
    assert [int(result["square"]) for result in found] == [0, 1, 4, 9, 16]


def test_an_interrupt_of_many_workers_keeps_what_is_finished(tmp_path):
    kept, runs = tmp_path / "kept", tmp_path / "runs"
    runs.mkdir()

    def watch(n_done, _n_all, _seconds_left):
        if n_done == 3:
            signal.raise_signal(signal.SIGINT)

    function = partial(square_counted, folder=runs, seconds=0.05)
    with joblib.parallel_config(backend="threading"), pytest.raises(KeyboardInterrupt):
        run_pieces(function, range(20), identity=IDENTITY, checkpoint=kept, n_jobs=2, watch=watch)
    finished = {int(path.stem) for path in kept.glob("*.npz")}
    assert len(finished) == 3
    found = run_pieces(function, range(20), identity=IDENTITY, checkpoint=kept)
    assert [int(result["square"]) for result in found] == [k**2 for k in range(20)]
    assert all(count_runs(runs)[piece] == 1 for piece in finished)


def test_errors_that_cannot_be_pickled_arrive_as_text():
    with pytest.raises(pieces_of_work.OddError, match="this and that"):
        run_pieces(pieces_of_work.fail_oddly, range(3), identity=IDENTITY)
    with (
        joblib.parallel_config(**WAYS["processes"]),
        pytest.raises(RuntimeError, match="OddError: this and that") as raised,
    ):
        run_pieces(pieces_of_work.fail_oddly, range(3), identity=IDENTITY)
    assert "fail_oddly" in raised.value.__notes__[0]


def test_data_are_not_left_with_a_worker_that_is_killed(cluster, tmp_path):  # noqa: ARG001
    function = partial(pieces_of_work.add_up_unless_killed, folder=tmp_path)
    with joblib.parallel_config(backend="dask"):
        found = run_pieces(function, [np.ones(200_000)], identity=IDENTITY)
    assert (tmp_path / "killed").exists()
    assert float(found[0]["sum"]) == 200_000


def test_nothing_is_lost_when_a_worker_of_a_cluster_is_killed(cluster, table, expected, tmp_path):
    workers = set(cluster.scheduler_info["workers"])
    function = partial(pieces_of_work.fit_unless_killed, table=table, folder=tmp_path)
    with joblib.parallel_config(backend="dask"):
        found = run_pieces(function, range(N_PIECES), identity=IDENTITY)
    assert (tmp_path / "killed").exists()
    assert set(cluster.scheduler_info["workers"]) != workers  # another process has taken the place
    assert_same_bits(found, expected)
