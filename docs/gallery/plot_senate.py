"""
The Senate of 2006
==================

Which senators vote alike, given how all others vote?
"""

import sparsefield as sf
from sparsefield.plotting import HeatmapDisplay, NetworkDisplay, TraceDisplay

senate = sf.datasets.load_senate()
print(senate.votes.summary().sort("missing", descending=True).head(4))

# %%
# The model fills votes that were not cast, given the other votes of the roll call.
mrf = sf.SparseMRF(alpha=0.1, random_state=1).fit(senate.votes)
print(mrf.status_)
print(sf.edge_table(mrf).head(8))

# %%
# Black lines are positive links between the parties.
parties = dict(zip(senate.members["name"], senate.members["party"], strict=True))
colors = {"D": "#243ae1", "R": "#a82207", "I": "#440253"}
NetworkDisplay.from_estimator(mrf, groups=parties, colors=colors)

# %%
# Who is central?
print(sf.centrality_table(mrf.graph()).sort("strength", descending=True).head(5))

# %%
# The heat map has all interactions, ordered by cluster.
HeatmapDisplay.from_estimator(mrf, groups=parties, colors=colors)

# %%
# What happened while the field was learned?
TraceDisplay.from_estimator(mrf)
