"""
Contacts in a protein family
============================

Which columns of a protein touch? The data are 4915 sequences of the Kunitz domain (PF00014), with 53 columns of up to
23 letters (data of PlmDCA.jl, MIT). Columns that touch in the folded protein change together, so that the strongest
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
records = (folder / "PF00014_match53.fasta").read_text().split(">")[1:]
letters = np.array([list("".join(record.split("\n")[1:])) for record in records])
table = sf.encode(pl.DataFrame({str(k + 1): letters[:, k] for k in range(letters.shape[1])}))

# %%
# The pseudo-likelihood needs no draws: with 23 levels there are no exact ones yet.
mrf = sf.PseudoLikelihood(alpha=0.03).fit(table)
print(mrf.status_)

# %%
# Edges between columns at least five apart, strongest first: how many are contacts, closer than 8 angstrom?
contacts = pl.read_csv(folder / "5pti_contacts.csv").filter(pl.col("min_heavy_dist") < 8)
touching = {(str(i), str(j)) for i, j in contacts.select("col_i", "col_j").iter_rows()}
edges = [
    (first, second) for first, second, _ in sf.edge_table(mrf.model_).iter_rows() if abs(int(first) - int(second)) >= 5
]
hits = np.cumsum([edge in touching for edge in edges])
for n in (10, 20, 30):
    print(f"of the strongest {n} edges {hits[n - 1]} are contacts")

# %%
# Contacts are grey. Each of the 30 strongest edges is red where it is a contact, and black where it is not.
figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
ax.plot(*np.array([(int(i), int(j)) for i, j in touching]).T, "s", color="#dddddd", markersize=5)
for first, second in edges[:30]:
    ax.plot(int(second), int(first), "o", color="#b3202c" if (first, second) in touching else "black", markersize=4)
ax.set(xlabel="column", ylabel="column", aspect="equal")
