"""Proteins: alignments, models in adabmDCA's format, and contacts."""

from sparsefield.proteins._adabmdca import read_adabmdca, write_adabmdca
from sparsefield.proteins._contacts import correct_strengths, rank_contacts
from sparsefield.tables import Alignment, read_alignment, sequence_weights

__all__ = [
    "Alignment",
    "correct_strengths",
    "rank_contacts",
    "read_adabmdca",
    "read_alignment",
    "sequence_weights",
    "write_adabmdca",
]
