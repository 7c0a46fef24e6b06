"""
Proteins: from an alignment to a contact map
============================================

Which columns of a protein touch? Columns that touch change together, so that the strongest couplings of a Potts model
of the family are contacts: direct coupling analysis (DCA).

**The family on this page is made up**, with its fold, so that the page can be built anywhere: 40 columns, a hairpin
and a helix that lies on it. The
example *Contacts in a protein family* has the Kunitz domain and its structure, which are not part of the project.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import sparsefield as sf
from sparsefield.plotting import PALETTE

BLUE, RED = PALETTE["light"]["groups"][:2]

# %%
# A family, made up
# -----------------
# 20 pairs of columns are coupled: oily letters seek oily ones, and charges seek the opposite charge. Columns next to
# such a pair touch too, and are not coupled. Sequences are states of Gibbs chains; every fourth is a relative of one
# of twenty others, which differs in a tenth of its letters, because databases have much of some branches.
letters, n_columns = np.array(list("ACDEFGHIKLMNPQRSTVWY")), 40
rng = np.random.default_rng(1)
hairpin = [(i, 21 - i) for i in range(1, 9)]
strands = (2, 3, 4, 5, 6, 7, 13, 14, 15, 16, 17, 19)
helix = (39, 38, 35, 34, 31, 30, 32, 28, 33, 36, 37, 40)
coupled = hairpin + list(zip(strands, helix, strict=True))
beside = (-1, 0, 1)
contacts = {(i + a, j + b) for i, j in coupled for a in beside for b in beside}
contacts = {(i, j) for i, j in contacts if i >= 1 and j <= n_columns and j - i >= 5}

classes = ("AVILMFWY", "KR", "DE")
oily, plus, minus = (np.isin(letters, list(word)) for word in classes)
coupling = 1.0 * np.outer(oily, oily) - np.outer(plus, plus) - np.outer(minus, minus)
coupling += 2 * (np.outer(plus, minus) + np.outer(minus, plus))
fields = rng.normal(size=(n_columns, 20))
codes = rng.integers(20, size=(1500, n_columns))
for _ in range(50):
    for k in range(n_columns):
        partners = [j - 1 if i == k + 1 else i - 1 for i, j in coupled if k + 1 in (i, j)]
        noise = rng.gumbel(size=(1500, 20))
        scores = fields[k] + sum(coupling[codes[:, m]] for m in partners) + noise
        codes[:, k] = scores.argmax(axis=1)
relatives = codes[rng.integers(20, size=500)]
changed = rng.random(relatives.shape) < 0.1
relatives[changed] = rng.integers(20, size=changed.sum())
sequences = ["".join(row) for row in letters[np.vstack([codes, relatives])]]

path = Path(mkdtemp()) / "family.fasta"
path.write_text("".join(f">sequence{k}\n{row}\n" for k, row in enumerate(sequences)))
print(path.read_text()[:160])

# %%
# The alignment
# -------------
# Sequences that agree in 80% of their columns share a weight of one. Its sum is the effective number of sequences,
# M_eff.
alignment = sf.proteins.read_alignment(path)
weights = sf.proteins.sequence_weights(alignment, identity=0.8)
print(f"{len(alignment)} sequences, {n_columns} columns, M_eff = {weights.sum():.0f}")

# %%
# The Potts model
# ---------------
# The pseudo-likelihood is that of plmDCA. The penalty is on the norm of a block of couplings, so that most pairs have
# none at all: a smaller `alpha` leaves more pairs, takes longer, and hardly changes which are best.
alpha = 0.007
mrf = sf.PseudoLikelihood(alpha, tol=1e-3).fit(alignment, sample_weight=weights)
print(mrf.status_)

# %%
# Contacts
# --------
# Pairs at least five columns apart, by the Frobenius norm of their couplings in the zero-sum gauge, with the average
# product correction (APC).
ranked = sf.proteins.rank_contacts(mrf, min_separation=5)
print(ranked.head(5))
pairs = [(int(row["first"]), int(row["second"])) for row in ranked.iter_rows(named=True)]
precision = np.cumsum([pair in contacts for pair in pairs]) / np.arange(1, len(pairs) + 1)
n_pairs = (n_columns - 5) * (n_columns - 4) // 2
numbers = {"L/5": n_columns // 5, "L/2": n_columns // 2, "all": len(pairs)}
for name, n in numbers.items():
    print(f"precision of the best {n:2d} pairs ({name}): {precision[n - 1]:.2f}")
print(f"of pairs taken at random: {len(contacts) / n_pairs:.2f}")

# %%
# The figure
# ----------
# Contacts of the fold are grey, below the diagonal and above it. The best L/2 pairs are drawn above, as large as
# their score, blue where they touch and red where they do not.
best = ranked.head(n_columns // 2)
figure = plt.figure(figsize=(9, 4.6), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
i, j = np.array(sorted(contacts)).T
both = np.append(i, j), np.append(j, i)
left.plot(*both, "s", color="#d9d9d9", markersize=4.8, label="contact", zorder=0)
first, second = np.array(pairs[: len(best)]).T
sizes = 20 + 60 * best["score"].to_numpy() / best["score"].max()
touch = np.array([pair in contacts for pair in pairs[: len(best)]])
for those, color, name in (
    (touch, BLUE, "predicted, and is one"),
    (~touch, RED, "predicted, and is none"),
):
    left.scatter(first[those], second[those], sizes[those], color=color, label=name)
left.axline((0, 0), slope=1, color="#888888", linewidth=0.8)
left.set(xlabel="column", ylabel="column", aspect="equal", xlim=(0, 41), ylim=(0, 41))
figure.legend(frameon=False, loc="outside upper left", ncols=3, columnspacing=1)
right.plot(np.arange(1, len(pairs) + 1), precision, color=BLUE, label="best pairs")
base = len(contacts) / n_pairs
right.axhline(base, linestyle="--", color="#888888", label="at random")
right.set(xlabel="number of pairs", ylabel="precision")
right.set(ylim=(0, 1.05), xlim=(1, len(pairs)))
right.legend(frameon=False, loc="center left")
right.spines[["top", "right"]].set_visible(False)

# %%
# What to report
# --------------
n = n_columns // 2
print(
    f"A Potts model of {len(alignment)} sequences (M_eff = {weights.sum():.0f} at "
    f"80% identity) and {n_columns} columns was fitted with sparsefield "
    f"{sf.__version__}, by penalised pseudo-likelihood with a group penalty on the "
    f"couplings of two columns (alpha = {alpha}; fields were not penalised). "
    f"{len(pairs)} of {n_pairs} pairs at least five columns apart have couplings. "
    f"Pairs were ranked by the Frobenius norm in the zero-sum gauge with the average "
    f"product correction; of the best L/2 = {n}, {precision[n - 1]:.0%} are "
    f"contacts. {mrf.status_}"
)

# %%
# A pseudo-likelihood has no certificate of how far it is from the likelihood; ``sf.SparseMRF(alpha)`` penalises the
# likelihood itself, where there are fewer columns or letters.
#
# Coming from plmDCA or adabmDCA
# ------------------------------
# plmDCA's ``lambda_J`` is an L2 penalty, under which every pair has a coupling; ``alpha`` is on norms of blocks, and
# leaves few. ``sf.proteins.write_adabmdca`` and ``sf.proteins.read_adabmdca`` exchange parameters with adabmDCA.
# :doc:`Coming from another program </guide/coming-from>` has more.
