"""
Neuroscience: from spike times to a pairwise maximum-entropy model
==================================================================

Does the synchrony of a population follow from its pairs? A pairwise maximum-entropy model has the firing rate of each
cell and the coincidences of each pair, and is otherwise as random as it can be (Schneidman, Berry, Segev and Bialek
2006). It is the Markov random field that this library learns: main effects are the fields h, interactions the
couplings J.

**The spikes on this page are made up**, so that it can be built anywhere: 20 minutes of 20 cells, in two populations
that each follow an input of their own. No coupling went into them, and the model knows nothing of inputs. The
example *Spikes of 50 neurons* has a recording, whose data are not part of the project.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

import sparsefield as sf
from sparsefield.plotting import PALETTE

BLUE, RED = PALETTE["light"]["groups"][:2]

# %%
# Spike times
# -----------
# A list of spike times, in seconds, for each cell: what spike sorting returns. Both inputs forget within 50 ms.
n_cells, seconds, step = 20, 1200, 0.001
rng = np.random.default_rng(1)
decay = np.exp(-step / 0.05)
inputs = lfilter(
    [np.sqrt(1 - decay**2)], [1, -decay], rng.standard_normal((2, int(seconds / step)))
)
spike_times = []
for cell in range(n_cells):
    gain, mean_rate = rng.uniform(0.7, 1.5), rng.uniform(0.5, 5)
    rate = mean_rate * np.exp(gain * inputs[cell // 10] - gain**2 / 2)
    spike_times.append(np.flatnonzero(rng.random(rate.size) < rate * step) * step)

figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.eventplot(
    spike_times, colors=[BLUE] * 10 + [RED] * 10, linelengths=0.8, linewidths=0.8
)
ax.set(
    xlim=(60, 70),
    ylim=(-1, n_cells),
    xlabel="time (s)",
    ylabel="cell",
    title="Ten seconds of two populations",
)
ax.spines[["top", "right"]].set_visible(False)

# %%
# A table of words
# ----------------
# Bins of 20 ms: one row per bin, one column per cell, 1 where the cell spikes.
bins = np.linspace(0, seconds, round(seconds / 0.020) + 1)
words = np.column_stack(
    [np.histogram(times, bins)[0] > 0 for times in spike_times]
).astype(int)
print(f"{len(words)} bins; a cell spikes in {words.mean():.1%} of them")

# %%
# Which penalty?
# --------------
# A fit has each coincidence rate of the data to within alpha, so that alpha says how well pairs are to be matched.
# The standard error of the rates themselves is as well as they are known: alpha is its median. (Without `alpha` the
# EBIC would choose one, larger, that keeps fewer couplings: the choice for those who want a network.)
pairs = np.triu_indices(n_cells, 1)
measured = sf.moments_of_table(sf.encode(words)).pair
errors = np.sqrt(measured * (1 - measured) / len(words))
alpha = float(np.median(errors[pairs]))
mrf = sf.SparseMRF(alpha, random_state=1).fit(words)
optimality = sf.certify(mrf, words).optimality
print(mrf.status_)
print(optimality)

# %%
# The status warns that some couplings may be noise, as it must where pairs are matched as well as they are known.
# Physicists who write spins -1 and +1 get their fields and couplings with ``mrf.model_.as_spins()``.
#
# Does it predict what it was not fitted to?
# ------------------------------------------
# The number K of cells that spike in the same bin is no statistic of the fit. Independent cells fall short of large K
# by orders of magnitude.
observed = np.bincount(words.sum(axis=1), minlength=n_cells + 1) / len(words)
draws = mrf.sample(1_000_000, method="perfect", seed=1)
pairwise = np.bincount(draws.codes.sum(axis=1), minlength=n_cells + 1) / len(draws)
independent = np.ones(1)
for rate in words.mean(axis=0):
    independent = np.convolve(independent, [1 - rate, rate])

found = sf.inference.Exact().moments(mrf.model_)
correlations = [
    (m.pair - np.outer(m.main, m.main))
    / np.sqrt(np.outer(m.main * (1 - m.main), m.main * (1 - m.main)))
    for m in (sf.moments_of_table(sf.encode(words)), found)
]

# %%
# The figure
# ----------
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(12, 4), layout="constrained"
)
shown = np.arange(13)
noise = 2 * np.sqrt(observed * (1 - observed) / len(words))
left.errorbar(
    shown,
    observed[:13],
    noise[:13],
    fmt="ko",
    markersize=4,
    label="data, ±2 standard errors",
)
left.plot(shown, pairwise[:13], color=BLUE, label="pairwise model")
left.plot(shown, independent[:13], "--", color="#888888", label="independent cells")
left.set(
    yscale="log", ylim=(5e-6, 3), xlabel="cells that spike together, K", ylabel="P(K)"
)
left.legend(frameon=False, loc="upper right")
middle.plot(
    correlations[0][pairs], correlations[1][pairs], ".", color=BLUE, markersize=5
)
middle.axline((0, 0), slope=1, color="#888888", linewidth=0.8)
middle.set(
    xlabel="correlation of a pair, data", ylabel="correlation, model", aspect="equal"
)
largest = np.abs(mrf.interactions_).max()
image = right.imshow(mrf.interactions_, cmap="RdBu", vmin=-largest, vmax=largest)
right.set(xlabel="cell", ylabel="cell", xticks=[0, 9, 19], yticks=[0, 9, 19])
figure.colorbar(image, ax=right, label="coupling J", shrink=0.8)
for letter, panel in zip("abc", (left, middle, right), strict=True):
    panel.set_title(letter, loc="left", weight="bold")
    panel.spines[["top", "right"]].set_visible(False)

# %%
# **a** The pairwise model has P(K) nearly right over five orders of magnitude. It is not perfect: silence, K = 0, is
# more frequent in the data, because an input that all cells share is more than its pairs. **b** Correlations are
# matched, as they must be. **c** Couplings join the cells of one input: cells that follow the same input look
# coupled, and a coupling is no synapse.
#
# How much of the structure do pairs explain? The entropy of the model beside that of independent cells:
rates = words.mean(axis=0)
alone = -(rates * np.log2(rates) + (1 - rates) * np.log2(1 - rates)).sum()
entropy = mrf.model_.entropy().value / np.log(2)
print(
    f"independent {alone:.3f} bits, pairwise {entropy:.3f} bits: correlations take {alone - entropy:.3f} bits"
)

# %%
# What to report
# --------------
worst = np.abs(found.pair - measured)[pairs].max()
print(
    f"A pairwise maximum-entropy model was fitted to {len(words)} bins of 20 ms of "
    f"{n_cells} cells with sparsefield {sf.__version__}, by maximum likelihood with "
    f"an L1 penalty on the couplings (alpha = {alpha:.2g}, the median standard error "
    f"of the coincidence rates; fields were not penalised). It has "
    f"{len(sf.edge_table(mrf))} couplings of {len(pairs[0])}. All states were "
    f"enumerated: the objective is within {optimality.gap:.1g} nats per bin of its "
    f"optimum. Its coincidence rates differ from those of the data by at most "
    f"{worst:.2g}. P(K) is that of 1,000,000 exact draws."
)

# %%
# Coming from maxent_toolbox
# --------------------------
# ``maxent.createModel(n, 'pairwise')`` and ``maxent.trainModel`` are ``SparseMRF(alpha).fit(words)``; factors are
# ``main_effects_`` and ``interactions_``, and ``maxent.generateSamples`` is ``mrf.sample(n, method="perfect")``,
# whose draws are exact. Models with K as a statistic of its own (``'kising'``) are not here. :doc:`Coming from
# another program </guide/coming-from>` has the words of others.
