"""
Neuroscience: from spike times to a pairwise model
==================================================

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
noise = rng.standard_normal((2, int(seconds / step)))
inputs = lfilter([np.sqrt(1 - decay**2)], [1, -decay], noise)
spike_times = []
for cell in range(n_cells):
    gain, mean_rate = rng.uniform(0.7, 1.5), rng.uniform(0.5, 5)
    rate = mean_rate * np.exp(gain * inputs[cell // 10] - gain**2 / 2)
    spike_times.append(np.flatnonzero(rng.random(rate.size) < rate * step) * step)

figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
colors = [BLUE] * 10 + [RED] * 10
ax.eventplot(spike_times, colors=colors, linelengths=0.8, linewidths=0.8)
ax.set(xlim=(60, 70), ylim=(-1, n_cells), xlabel="time (s)", ylabel="cell")
ax.set_title("Ten seconds of two populations")
ax.spines[["top", "right"]].set_visible(False)

# %%
# A table of words
# ----------------
# Bins of 20 ms: one row per bin, one column per cell, 1 where the cell spikes.
bins = np.linspace(0, seconds, round(seconds / 0.020) + 1)
spiked = [np.histogram(times, bins)[0] > 0 for times in spike_times]
words = np.column_stack(spiked).astype(int)
print(f"{len(words)} bins; a cell spikes in {words.mean():.1%} of them")

# %%
# Which penalty?
# --------------
# A fit has each coincidence rate of the data to within alpha, so that alpha says how well pairs are to be matched.
# The standard error of the rates themselves is as well as they are known: alpha is its median. (`sf.EBIC()`
# would choose one, larger, that keeps fewer couplings: the choice for those who want a network.)
pairs = np.triu_indices(n_cells, 1)
measured = sf.data.moments_of_table(sf.encode(words)).pair
errors = np.sqrt(measured * (1 - measured) / len(words))
alpha = float(np.median(errors[pairs]))
mrf = sf.SparseMRF(alpha, random_state=1).fit(words)
optimality = sf.certify(mrf, words).optimality
print(mrf.status_)
print(optimality)

# %%
# The status warns that some couplings may be sampling error, as it must where pairs are matched as well as they are
# known. Physicists who write spins -1 and +1 get their fields and couplings with ``mrf.model_.as_spins()``.
#
# Does it predict what it was not fitted to?
# ------------------------------------------
# The number K of cells that spike in the same bin is no statistic of the fit, and neither is how often a whole pattern
# of spikes and silences occurs. Independent cells are the model without couplings.
spikes = words.sum(axis=1)
observed = np.bincount(spikes, minlength=n_cells + 1) / len(words)
draws = mrf.sample(1_000_000, method="perfect", seed=1)
pairwise = np.bincount(draws.codes.sum(axis=1), minlength=n_cells + 1) / len(draws)
rates = words.mean(axis=0)
independent = np.ones(1)
for rate in rates:
    independent = np.convolve(independent, [1 - rate, rate])

patterns, counts = np.unique(words, axis=0, return_counts=True)
frequent = counts >= 5
patterns, counts = patterns[frequent], counts[frequent]
by_pairs = np.exp(mrf.model_.log_prob(patterns))
by_rates = np.where(patterns, rates, 1 - rates).prod(axis=1)


def find_correlations(moments):
    """Return the correlation of each pair of cells."""
    deviations = np.sqrt(moments.main * (1 - moments.main))
    covariances = moments.pair - np.outer(moments.main, moments.main)
    return (covariances / np.outer(deviations, deviations))[pairs]


found = sf.inference.Exact().moments(mrf.model_)

# %%
# The figure
# ----------
figure, axes = plt.subplots(2, 2, figsize=(8, 7.2), layout="constrained")
(counting, matching), (predicting, coupling) = axes
shown = np.arange(13)
errors = 2 * np.sqrt(observed * (1 - observed) / len(words))
counting.errorbar(shown, observed[shown], errors[shown], fmt="ko", ms=4, label="data")
counting.plot(shown, pairwise[shown], color=BLUE, label="pairwise model")
counting.plot(shown, independent[shown], "--", color="#888888", label="independent")
counting.set(yscale="log", ylim=(5e-6, 3), xticks=shown[::2], ylabel="P(K)")
counting.set_xlabel("cells that spike together, K")
counting.legend(frameon=False)

data = find_correlations(sf.data.moments_of_table(sf.encode(words)))
matching.plot(data, find_correlations(found), ".", color=BLUE)
matching.axline((0, 0), slope=1, color="#888888", linewidth=0.8)
matching.set(xlabel="correlation of a pair, data", ylabel="correlation, model")

occurs = counts / len(words)
predicting.loglog(occurs, by_rates, ".", color="#aaaaaa", label="independent")
predicting.loglog(occurs, by_pairs, ".", color=BLUE, label="pairwise model")
predicting.axline((1e-3, 1e-3), (1e-2, 1e-2), color="#888888", linewidth=0.8)
predicting.set(xlabel="frequency of a pattern, data", ylabel="probability, model")
predicting.legend(frameon=False, loc="lower right")

largest = np.abs(mrf.interactions_).max()
image = coupling.imshow(mrf.interactions_, cmap="RdBu", vmin=-largest, vmax=largest)
coupling.set(xlabel="cell", ylabel="cell", xticks=[0, 9, 19], yticks=[0, 9, 19])
figure.colorbar(image, ax=coupling, label="coupling J", shrink=0.8)
for letter, panel in zip("abcd", axes.flat, strict=True):
    panel.set_title(letter, loc="left", weight="bold")
    panel.spines[["top", "right"]].set_visible(False)

# %%
# **a** The pairwise model has P(K) nearly right over four orders of magnitude (bars are two standard errors of the
# data), where independent cells miss large K by far. It is not perfect: silence, K = 0, is more frequent in the data,
# because an input that cells share is more than its pairs. **b** Correlations are matched, as they must be. **c** Whole
# patterns have nearly the probabilities with which they occur. **d** Couplings join the cells of one input: cells that
# follow the same input look coupled, and a coupling is no synapse.
#
# How much of the structure do pairs explain? The entropy of the model beside that of independent cells:
alone = -(rates * np.log2(rates) + (1 - rates) * np.log2(1 - rates)).sum()
entropy = mrf.model_.entropy().value / np.log(2)
print(f"independent {alone:.3f} bits, pairwise {entropy:.3f} bits per bin")

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
# ``maxent.createModel(n, 'pairwise')`` and ``maxent.trainModel(model, raster, 'threshold', 1)`` are
# ``SparseMRF(alpha).fit(words)``, with cells in columns instead of rows and one standard error for alpha, as above.
# ``maxent.generateSamples`` is ``mrf.sample(n, method="perfect")``, whose draws are exact. Models with K as a
# statistic of its own (``'ksync'``) are not here. :doc:`Coming from another program </guide/coming-from>` has the
# words of others.
