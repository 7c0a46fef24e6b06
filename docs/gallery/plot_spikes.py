"""
Spikes of 50 neurons
====================

Which neurons spike together, given all others? The data are 40,000 points in time, at each of which a neuron spikes
or is silent (example data of the maxent toolbox, MIT). The file is not part of the project; ``SPARSEFIELD_OUTSIDE``
names the folder that has it.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import sparsefield as sf
from sparsefield.plotting import HeatmapDisplay

spikes = np.load(Path(os.environ["SPARSEFIELD_OUTSIDE"]) / "spikes" / "maxent_toolbox_spikes50.npz")["spikes"]
mrf = sf.SparseMRF(alpha=0.004, random_state=1).fit(spikes)
print(mrf.status_)
print(mrf.fit_.certified)

# %%
# Are the frequencies of pairs those of the data, up to the penalty? Exact draws from the model answer that.
drawn = sf.data.moments_of_table(mrf.sample(200_000, method="perfect", seed=1)).pair
data = sf.data.moments_of_table(sf.encode(spikes)).pair
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
pairs = np.triu_indices(50, 1)
ax.loglog(data[pairs] + 1e-5, drawn[pairs] + 1e-5, ".", markersize=3)
ax.set(xlabel="both spike, data", ylabel="both spike, model")

# %%
# The heat map has all interactions, ordered by cluster.
HeatmapDisplay.from_estimator(mrf)
