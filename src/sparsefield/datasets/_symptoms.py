"""Symptoms of depression of 1,000 persons who are made up: exact draws of a published network.

The network is that of Cramer, van Borkulo, Giltay, van der Maas, Kendler, Scheffer and Borsboom (2016): Major
Depression as a Complex Dynamic System. PLOS ONE 11(12): e0167490, https://doi.org/10.1371/journal.pone.0167490
(CC BY 4.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files

import polars as pl

from sparsefield.data import Table
from sparsefield.model import PairwiseMRF
from sparsefield.tables import encode


@dataclass(frozen=True, eq=False)
class Symptoms:
    """Answers of persons who are made up, and the published network that they are drawn from.

    Parameters
    ----------
    survey : polars.DataFrame
        The table as a survey would leave it: a column `id`, and a column for each symptom with 1 (present), 0 (absent)
        or null (no answer).
    answers : Table
        1,000 persons by 14 symptoms: `survey` without the column that names the rows, encoded.
    items : polars.DataFrame
        name, code (of the article), symptom (its full name), domain and threshold of each column of `answers`. The
        domains are ours, to colour pictures with.
    network : PairwiseMRF
        The published network: its thresholds are the main effects, its weights the interactions.
    """

    survey: pl.DataFrame
    answers: Table
    items: pl.DataFrame
    network: PairwiseMRF


def load_symptoms() -> Symptoms:
    """Load a table of depressive symptoms whose network is known.

    No person gave these answers. They are exact draws from the network that Cramer and others (2016) published, who
    estimated it with IsingFit from interviews of 8,973 twins (VATSPUD: the Virginia Adult Twin Study of Psychiatric and
    Substance Use Disorders). 3% of the answers are missing, completely at random. What a fit finds can be
    compared with what is there.

    Returns
    -------
    Symptoms

    Examples
    --------
    >>> from sparsefield.datasets import load_symptoms
    >>> symptoms = load_symptoms()
    >>> symptoms.answers.codes.shape, int(symptoms.answers.n_missing.sum())
    ((1000, 14), 412)
    >>> symptoms.network.domain.names[:2]
    ('depressed mood', 'loss of interest')
    """
    folder = files("sparsefield.datasets") / "data"
    with as_file(folder / "symptoms.csv") as path:
        survey = pl.read_csv(path)
    with as_file(folder / "symptoms_items.csv") as path:
        items = pl.read_csv(path)
    with as_file(folder / "symptoms_weights.csv") as path:
        weights = pl.read_csv(path).to_numpy()
    network = PairwiseMRF.binary(items["threshold"].to_numpy(), weights, names=items["name"])
    return Symptoms(survey, encode(survey.drop("id")), items, network)
