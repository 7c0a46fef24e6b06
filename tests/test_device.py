"""Whatever draws takes a device: a GPU makes the draws, and where there is none that is said before any work."""

import numpy as np
import pytest

import sparsefield as sf
from sparsefield import resampling, selection
from sparsefield.certificates import coalescence
from sparsefield.datasets import make_field
from sparsefield.gradients import BestDraws
from sparsefield.inference import Cpu, Cuda
from sparsefield.learning import _choose
from support.host_device import needs_device
from support.problems import make_table, theta_of

MODEL = make_field(6, edge_probability=0.7, seed=1)
TABLE = make_table(6, 300)
MISSING = np.full((4, 6), 255, dtype=np.uint8)
# Some rows, fewer than half of those of a fold, miss all that they can.
FILLED = sf.Table(TABLE.domain, np.where(np.arange(300)[:, None] % 50 == 0, 255, TABLE.codes).astype(np.uint8))
# Short fits on draws, where these tables would be enumerated.
QUICK = {"solver": sf.Newton(schedule=BestDraws(max_states=0), n_chains=200, max_iter=3), "gap": 0.5}
FITTED = sf.SparseMRF(0.05, random_state=1).fit(TABLE)


def sample(**how):
    return MODEL.sample(500, n_sweeps=5, seed=3, **how).codes


def draw(**how):
    return MODEL.sample(500, method="perfect", seed=3, **how).codes


def find_partition(**how):
    return MODEL.log_partition("draws", n_draws=2000, seed=3, **how).value


def find_entropy(**how):
    return MODEL.entropy("draws", n_draws=2000, seed=3, **how).value


def impute(**how):
    return MODEL.impute(MISSING, seed=3, **how).codes


def sum_out(**how):
    return MODEL.log_prob_observed(MISSING, log_partition=0.0, seed=3, **how)


def bound(**how):
    return coalescence(MODEL, 5, 700, seed=3, **how).bias


def learn(**how):
    return theta_of(sf.learn(TABLE, 0.05, seed=1, **QUICK, **how))


def learn_filled(**how):
    return theta_of(sf.learn(FILLED, 0.05, seed=1, **QUICK, **how))


def certify(**how):
    return sf.certify(FITTED, TABLE, n_draws=2000, max_states=0, **how).optimality.gap


def fit(**how):
    return theta_of(sf.SparseMRF(0.05, random_state=1, **QUICK, **how).fit(TABLE))


def choose(**how):
    mrf = sf.SparseMRF(sf.HeldOut(alphas=[0.1, 0.05], cv=2), random_state=1, **QUICK, **how)
    return theta_of(mrf.fit(TABLE))


def follow(**how):
    return theta_of(sf.path(TABLE, [0.1, 0.05], seed=1, **QUICK, **how).fits[-1])


def select(**how):
    return selection.select(TABLE, sf.EBIC(alphas=[0.1, 0.05]), seed=1, **QUICK, **how).table["ebic"].to_numpy()


def select_filled(**how):
    return selection.select(FILLED, sf.EBIC(alphas=[0.1, 0.05]), seed=1, **QUICK, **how).table["ebic"].to_numpy()


def hold_out_filled(**how):
    rule = sf.HeldOut(cv=2, alphas=[0.1, 0.05])
    return selection.select(FILLED, rule, seed=1, **QUICK, **how).table["held_out"].to_numpy()


def resample(**how):
    return resampling.bootstrap(TABLE, alpha=0.05, n=2, seed=1, **QUICK, **how).weights


def drop_rows(**how):
    return resampling.stability(TABLE, alpha=0.05, shares=(0.5,), n=2, seed=1, **QUICK, **how).edges


def resample_estimator(**how):
    return sf.bootstrap(sf.SparseMRF(0.05, random_state=1, **QUICK, **how), TABLE, n=2).weights


def score(**how):
    mrf = sf.SparseMRF(0.05, random_state=1).fit(TABLE)
    return mrf.set_params(**how).score(TABLE)


def fill(**how):
    mrf = sf.SparseMRF(0.05, random_state=1).fit(TABLE)
    return mrf.set_params(**how).impute(sf.Table(TABLE.domain, MISSING), random_state=1).codes


ENTRIES = (
    *(sample, draw, find_partition, find_entropy, impute, sum_out, bound, learn, learn_filled, certify, fit, choose),
    *(follow, select, select_filled, hold_out_filled, resample, drop_rows, resample_estimator, score, fill),
)
each_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)


@pytest.fixture(autouse=True)
def let_all_be_drawn(monkeypatch, limit_sums):
    """Let sums over so few states be out of reach."""
    limit_sums(3, n_states=3)
    monkeypatch.setattr("sparsefield.inference.missing._missing.is_cheap", lambda n_states, *_: n_states < 1)


def watch_processors(monkeypatch):
    """Let draws of the processors fail that no GPU has asked them for."""

    def watch(name):
        made = getattr(Cpu, name)

        def watched(self, *arguments, **options):
            assert isinstance(self, Cuda), "the processors were asked for draws"
            return made(self, *arguments, **options)

        monkeypatch.setattr(Cpu, name, watched)

    for name in ("chains", "bounding_chains", "draw", "clamped_chains", "clamped_draw"):
        watch(name)


@needs_device
@each_entry
@pytest.mark.filterwarnings("ignore:.*too many missing values")
def test_draws_are_made_on_the_device_and_nowhere_else(entry, gpu, monkeypatch):
    watch_processors(monkeypatch)
    entry(device="cuda")
    assert gpu.launched


@each_entry
@pytest.mark.filterwarnings("ignore:.*too many missing values")
def test_the_processors_take_the_place_of_a_gpu_that_is_not_there(entry, no_cupy):  # noqa: ARG001
    expected = entry()
    for device in ("cpu", "auto", Cpu()):
        np.testing.assert_array_equal(entry(device=device), expected)


@each_entry
def test_without_cupy_a_sentence_says_how_to_install_it(entry, no_cupy):  # noqa: ARG001
    with pytest.raises(
        ValueError, match=r"^device is 'cuda': .* \"pip install 'sparsefield\[cuda\]'\" .* device='cpu'"
    ):
        entry(device="cuda")


@each_entry
def test_unknown_devices_are_refused(entry):
    with pytest.raises(ValueError, match="device is 'gpu': use 'cpu', 'cuda' or 'auto'"):
        entry(device="gpu")


def test_a_penalty_is_chosen_on_the_device_of_the_fit(monkeypatch):
    asked = []

    class Watched(sf.EBIC):
        def choose(self, learner, **how):
            asked.append(learner.options.device)
            return super().choose(learner, **how)

    monkeypatch.setattr(_choose, "EBIC", lambda: Watched(n_alphas=3))
    sf.learn(TABLE, penalty="l1", seed=1, device="auto")
    assert asked == ["auto"]


def test_a_missing_gpu_is_said_before_a_table_is_read(no_cupy):  # noqa: ARG001
    for ask in (sf.learn, sf.SparseMRF(device="cuda").fit, sf.path, selection.select):
        with pytest.raises(ValueError, match=r"sparsefield\[cuda\]"):
            ask("no such file.csv", **({} if ask.__name__ == "fit" else {"device": "cuda"}))
    with pytest.raises(ValueError, match=r"sparsefield\[cuda\]"):
        sf.certify(FITTED, "no such file.csv", device="cuda")


@needs_device
def test_a_fit_says_what_made_its_draws(gpu, monkeypatch):
    def settle(**how):
        return sf.learn(TABLE, 0.05, seed=1, **QUICK, **how).settings

    assert [settle(device=name)["device"] for name in ("cpu", "cuda", "auto", None)] == ["cpu", "cuda", "auto", "cpu"]
    assert gpu.launched
    assert settle(device=Cpu())["device"] == repr(Cpu())
    monkeypatch.setattr("sparsefield.inference._device_choice.has_gpu", lambda: False)
    assert settle(device="auto")["device"] == "cpu"


@needs_device
def test_pieces_of_another_device_are_not_taken_up(gpu, tmp_path):
    resample(checkpoint=tmp_path)
    resample(checkpoint=tmp_path, device="cpu")
    assert not gpu.launched
    with pytest.raises(ValueError, match="device is cpu there and cuda here"):
        resample(checkpoint=tmp_path, device="cuda")
