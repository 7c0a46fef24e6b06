"""
Symptoms of ADHD
================

Which symptoms come together, given all others? The data are 18 symptoms of 355 children, each present or absent (Silk
et al. 2019, from the R package bgms, CC-BY 4.0). The file is not part of the project; ``SPARSEFIELD_OUTSIDE`` names
the folder that has it.
"""

import os
from pathlib import Path

import polars as pl

import sparsefield as sf
from sparsefield.plotting import NetworkDisplay

frame = pl.read_csv(Path(os.environ["SPARSEFIELD_OUTSIDE"]) / "adhd" / "adhd_bgms.csv").drop("group")
mrf = sf.SparseMRF(alpha=0.03, random_state=1).fit(frame)
print(mrf.status_)
print(sf.edge_table(mrf).head(8))

# %%
# The first nine are symptoms of inattention, the others of hyperactivity and impulsivity.
groups = {name: "inattention" if k < 9 else "hyperactivity" for k, name in enumerate(frame.columns)}
NetworkDisplay.from_estimator(mrf, groups=groups)

# %%
# How far from the optimum can the fit be?
print(sf.certify(mrf, frame).optimality)
