"""Roll calls of the United States Senate in 2006 (109th Congress, second session).

Public record, by way of Voteview (Lewis, Poole, Rosenthal, Boche, Rudkin, Sonnet: Voteview: Congressional Roll-Call
Votes Database, https://voteview.com) and the R package pscl.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

import polars as pl

from sparsefield.data import Table
from sparsefield.tables import encode


@dataclass(frozen=True, eq=False)
class Senate:
    """Votes, and who cast them on what.

    Parameters
    ----------
    votes : Table
        279 roll calls by 100 senators: 1 yea, 0 nay, missing where a senator did not vote.
    members : polars.DataFrame
        name, state and party of each senator, in the order of the columns of `votes`.
    roll_calls : polars.DataFrame
        date, bill, question and result of each roll call, in the order of the rows of `votes`.
    """

    votes: Table
    members: pl.DataFrame
    roll_calls: pl.DataFrame


def load_senate() -> Senate:
    """Load the Senate votes that the paper learns a network from.

    Examples
    --------
    >>> from sparsefield.datasets import load_senate
    >>> senate = load_senate()
    >>> senate.votes.codes.shape, int(senate.votes.n_missing.sum())
    ((279, 100), 801)
    """
    folder = files("sparsefield.datasets") / "data"
    with as_file(folder / "senate109_2.csv") as path:
        votes = encode(path)
    with as_file(folder / "senate109_2_members.csv") as path:
        members = pl.read_csv(path)
    with as_file(folder / "senate109_2_votes.csv") as path:
        roll_calls = pl.read_csv(path, try_parse_dates=True)
    return Senate(votes, members, roll_calls)
