"""
Political science: from roll calls to a network of senators
===========================================================

Who votes alike, given how everybody else votes? Scaling methods such as NOMINATE or IDEAL place members on a line. A
network asks another question: which two members agree more than their party, and all others, would make one expect?
"""

import matplotlib.pyplot as plt
import polars as pl

import sparsefield as sf
from sparsefield.plotting import NetworkDisplay

# %%
# Roll calls
# ----------
# One row per roll call, one column per senator: 1 yea, 0 nay, empty where a senator did not vote. The 279 roll calls
# of 2006 (109th Congress, second session) are part of the package; the source is Voteview. The votes of other
# congresses, with their codes from 1 to 9, are recoded to these three.
senate = sf.datasets.load_senate()
print(senate.votes.to_frame().select(senate.votes.domain.names[:2]).head(3))
print(f"{senate.votes.mask.mean():.1%} of the votes were not cast")

# %%
# Votes that were not cast are no abstentions by default: the model fills them, given the other votes of the roll
# call, and takes no side where these do not tell.
#
# What the EBIC keeps
# -------------------
# A rule in place of a penalty chooses how strong it is: by the EBIC few edges, of votes that go together most.
mrf = sf.SparseMRF(sf.EBIC(), random_state=1).fit(senate.votes)
alpha = mrf.choice_.alpha
print(f"alpha = {alpha:.3g} has the least EBIC of {len(mrf.choice_.table)} penalties")
print(sf.edge_table(mrf).head(5))

# %%
# The strongest edges join senators of one state. An edge of weight w says that the odds of a yea are exp(w) times as
# large where the other senator votes yea, with all other votes as they are (:doc:`reading an edge </guide/reading>`).
#
# How many edges cross the aisle? Jeffords, an independent, sat with the Democrats and counts with them.
party = dict(zip(senate.members["name"], senate.members["party"], strict=True))
caucus = {name: letter.replace("I", "D") for name, letter in party.items()}


def find_across(fitted):
    """Return the positive edges between the two caucuses, strongest first."""
    sides = [pl.col(end).replace_strict(caucus) for end in ("first", "second")]
    return sf.edge_table(fitted).filter(sides[0] != sides[1], pl.col("weight") > 0)


print(f"{len(find_across(mrf))} of {len(sf.edge_table(mrf))} edges")

# %%
# Who stands between the parties?
# -------------------------------
# At that penalty the Senate falls apart into its two caucuses. Which senators join them first as the penalty becomes
# smaller? The weakest edges may be sampling error then; those across the aisle are the answer to this question.
closer = sf.SparseMRF(alpha=0.1, random_state=1).fit(senate.votes)
across = find_across(closer)
print(across)

# %%
# The figure
# ----------
# Senators are coloured by party.
colors = {"D": "#243ae1", "R": "#a82207", "I": "#440253"}
NetworkDisplay.from_estimator(closer, groups=party, colors=colors)

# %%
# In a notebook a fit shows its network, to drag, zoom and ask:

# sphinx_gallery_capture_repr_block = ("_repr_html_",)
closer.fit_

# %%
# The strength of a senator's edges to the other side is called bridge strength (Jones, Ma and McNally 2021).
ends = [across.select("weight", senator=end) for end in ("first", "second")]
bridges = pl.concat(ends).group_by("senator").agg(across=pl.col("weight").sum())
strengths = sf.centrality_table(closer).select(senator="node", all="influence")
bridges = bridges.join(strengths, on="senator").sort(-pl.col("across"), "senator")
print(bridges)

figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
shades = [colors[party[name]] for name in bridges["senator"]]
ax.barh(bridges["senator"], bridges["across"], color=shades)
ax.invert_yaxis()
ax.set(xlabel="strength of edges to the other side", title="Between the parties")
ax.spines[["top", "right"]].set_visible(False)

# %%
# The column ``all`` has the sum of all weights of a senator. Where both columns agree, all of a senator's edges lead
# to the other side.
#
# What to report
# --------------
print(
    f"A sparse pairwise Markov random field was fitted to {len(senate.votes)} roll "
    f"calls of {len(party)} senators (Voteview, 109th Congress, 2006) with "
    f"sparsefield {sf.__version__}, by maximum likelihood with an L1 penalty on the "
    f"interactions. {senate.votes.mask.mean():.1%} of the votes were not cast; they "
    f"count as missing at random given the votes of others. At the penalty with the "
    f"least extended BIC (alpha = {mrf.choice_.alpha:.3g}, gamma = 0.25) there are "
    f"{len(sf.edge_table(mrf))} edges, {len(find_across(mrf))} of them positive "
    f"between the parties; at alpha = 0.1, {len(sf.edge_table(closer))} and "
    f"{len(across)}. {closer.status_}"
)

# %%
# Two cautions belong beside it. Roll calls are no sample of votes that might have been held: they are what leaders
# brought to the floor, and rows of one bill resemble each other. And ``sparsefield bootstrap`` draws roll calls again
# to see which edges return, but with 100 senators and missing votes each resample takes a minute or more: a hundred of
# them are work for several machines (:doc:`/guide/cluster`).
#
# Coming from qgraph, IsingFit or pscl
# ------------------------------------
# ``IsingFit(votes)`` takes no missing votes, where ``SparseMRF().fit(votes)`` does; a ``rollcall`` object of pscl has
# members in rows and is transposed first. :doc:`Coming from another program </guide/coming-from>` has more.
