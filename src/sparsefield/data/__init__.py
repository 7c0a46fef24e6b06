"""Tables: variables and their levels, reading and encoding, whole-number counts, and moments."""

from sparsefield.data._alignments import AMINO_ACIDS, Alignment, read_alignment, sequence_weights
from sparsefield.data._contents import Contents, ReadingWarning
from sparsefield.data._count_data import count_data, count_parts, find_large, find_parts, open_rows, read_rows
from sparsefield.data._counted import CountedTable
from sparsefield.data._counting import MOST_ROWS, borrow_rows, count_codes, count_ones, count_words, is_few
from sparsefield.data._domain import MISSING, MOST_LEVELS, Domain
from sparsefield.data._encode import MAX_LEVELS, encode
from sparsefield.data._errors import ConstantColumnWarning, Suspicion, TableError, UnknownLettersWarning, check_file
from sparsefield.data._fingerprint import check_rows, describe_rows
from sparsefield.data._listing import columns_have, count, listed, preview
from sparsefield.data._merging import Merged
from sparsefield.data._moments import (
    Counts,
    Moments,
    check_observed,
    count_table,
    moments_of_codes,
    moments_of_table,
    weighted_moments,
)
from sparsefield.data._odd_levels import FEW_LEVELS
from sparsefield.data._ordered import Ordinal
from sparsefield.data._parts import LazyParts
from sparsefield.data._policies import WAYS_WITH_MISSING, read_weights, resolve_missing, take_counted
from sparsefield.data._reading import MISSING_MARKERS, read_contents, read_table
from sparsefield.data._row_names import is_numbering, names_rows
from sparsefield.data._rows import Rows
from sparsefield.data._source import as_address
from sparsefield.data._suspicions import find_suspicions
from sparsefield.data._table import Table, distinct_rows
from sparsefield.data._taken_words import DOUBTFUL_MARKERS, find_taken, has_gaps
from sparsefield.data._unseen import Unseen, find_unseen
from sparsefield.data._variants import list_variants

__all__ = [
    "AMINO_ACIDS",
    "DOUBTFUL_MARKERS",
    "FEW_LEVELS",
    "MAX_LEVELS",
    "MISSING",
    "MISSING_MARKERS",
    "MOST_LEVELS",
    "MOST_ROWS",
    "WAYS_WITH_MISSING",
    "Alignment",
    "ConstantColumnWarning",
    "Contents",
    "CountedTable",
    "Counts",
    "Domain",
    "LazyParts",
    "Merged",
    "Moments",
    "Ordinal",
    "ReadingWarning",
    "Rows",
    "Suspicion",
    "Table",
    "TableError",
    "UnknownLettersWarning",
    "Unseen",
    "as_address",
    "borrow_rows",
    "check_file",
    "check_observed",
    "check_rows",
    "columns_have",
    "count",
    "count_codes",
    "count_data",
    "count_ones",
    "count_parts",
    "count_table",
    "count_words",
    "describe_rows",
    "distinct_rows",
    "encode",
    "find_large",
    "find_parts",
    "find_suspicions",
    "find_taken",
    "find_unseen",
    "has_gaps",
    "is_few",
    "is_numbering",
    "list_variants",
    "listed",
    "moments_of_codes",
    "moments_of_table",
    "names_rows",
    "open_rows",
    "preview",
    "read_alignment",
    "read_contents",
    "read_rows",
    "read_table",
    "read_weights",
    "resolve_missing",
    "sequence_weights",
    "take_counted",
    "weighted_moments",
]
