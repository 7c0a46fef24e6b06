"""
Four bounds on one bias
=======================

How wrong can the mean of Gibbs chains be after some sweeps? The truth, from the exact law of the chains, and four
certificates.
"""

import matplotlib.pyplot as plt
import numpy as np

import sparsefield as sf
from sparsefield.certificates import Disagreement, coalescence, fischer
from sparsefield.plotting import Curve, plot_curves
from sparsefield_experiments import Law

model = sf.datasets.make_field(10, strength=(0.7, 1.4), seed=1)
sweeps = np.arange(1, 16)
print(f"influence radius {Disagreement(model).radius:.2f}")

# %%
# From the worst of all 1024 starts.
law = Law(model)
truth = [law.biases(int(n))[0] for n in sweeps]
paper, sharp = (Disagreement(model, kind=kind).next_biases(len(sweeps)) for kind in ("paper", "sharp"))
chains = [coalescence(model, int(n), 100_000, seed=1).bias for n in sweeps]
old = [fischer(model, int(n)).bias for n in sweeps]

figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
curves = [
    Curve("Fischer's bound", sweeps, old, color="#b0b0b0"),
    Curve("the paper's bound", sweeps, paper, color="#b3202c"),
    Curve("sharp bound", sweeps, sharp, color="#1f5fa8"),
    Curve("bounding chains", sweeps, chains, color="#e08214"),
    Curve("exact bias, worst start", sweeps, truth, color="black"),
]
plot_curves(ax, curves, x="sweeps", y="L2 norm of the bias")
ax.set_yscale("log")
ax.legend(frameon=False)
