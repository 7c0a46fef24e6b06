"""
Contacts in a protein family
============================

Which columns of a protein touch? The data are 4915 sequences of the Kunitz domain (PF00014), with 53 columns of up to
21 letters (data of PlmDCA.jl, MIT). Columns that touch in the folded protein change together, so that the strongest
edges should be contacts (PDB entry 5PTI). The files are not part of the project; ``SPARSEFIELD_OUTSIDE`` names the
folder that has them.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import sparsefield as sf

folder = Path(os.environ["SPARSEFIELD_OUTSIDE"]) / "pf00014"
table = sf.proteins.read_alignment(folder / "PF00014_match53.fasta")

# %%
# Some branches of the family were sequenced more often than others: sequences that agree in 80 % of their columns share
# a weight of one.
weights = sf.proteins.sequence_weights(table, identity=0.8)
print(f"{len(table)} sequences count as {weights.sum():.0f}")

# %%
# The pseudo-likelihood needs no draws.
mrf = sf.PseudoLikelihood(alpha=0.01, tol=3e-3).fit(table, sample_weight=weights)
print(mrf.status_)

# %%
# Edges between columns at least five apart, best first: how many are contacts, closer than 8 angstrom? What a column
# shares with all others is taken away from its edges (the average product correction).
contacts = pl.read_csv(folder / "5pti_contacts.csv").filter(pl.col("min_heavy_dist") < 8)
touching = {(str(i), str(j)) for i, j in contacts.select("col_i", "col_j").iter_rows()}
edges = list(sf.proteins.rank_contacts(mrf.model_, min_separation=5).select("first", "second").iter_rows())
hits = np.cumsum([edge in touching for edge in edges])
for n in (10, 20, 30):
    print(f"of the best {n} edges {hits[n - 1]} are contacts")

# %%
# Contacts are grey. Each of the 30 best edges is red where it is a contact, and black where it is not.
figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
ax.plot(*np.array([(int(i), int(j)) for i, j in touching]).T, "s", color="#dddddd", markersize=5)
for first, second in edges[:30]:
    ax.plot(int(second), int(first), "o", color="#b3202c" if (first, second) in touching else "black", markersize=4)
ax.set(xlabel="column", ylabel="column", aspect="equal")
