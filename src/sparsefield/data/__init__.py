"""Tables as values: variables and their levels, rows and their weights, counts and moments."""

from sparsefield.data._counted import CountedTable
from sparsefield.data._counting import MOST_ROWS, borrow_rows, count_codes, count_ones, count_slots, count_words, is_few
from sparsefield.data._domain import MISSING, MOST_LEVELS, Domain, Level, check_names, code_of, make_names
from sparsefield.data._errors import (
    ConstantColumnWarning,
    Suspicion,
    TableError,
    UnknownLettersWarning,
    check_file,
    unknown_value,
)
from sparsefield.data._fingerprint import check_rows, describe_rows
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
from sparsefield.data._phrases import columns_have, count, listed, preview
from sparsefield.data._policies import WAYS_WITH_MISSING, read_weights, resolve_missing, take_counted
from sparsefield.data._rows import Rows
from sparsefield.data._table import Table, distinct_rows
from sparsefield.data._unseen import Unseen, find_unseen

__all__ = [
    "MISSING",
    "MOST_LEVELS",
    "MOST_ROWS",
    "WAYS_WITH_MISSING",
    "ConstantColumnWarning",
    "CountedTable",
    "Counts",
    "Domain",
    "Level",
    "Merged",
    "Moments",
    "Rows",
    "Suspicion",
    "Table",
    "TableError",
    "UnknownLettersWarning",
    "Unseen",
    "borrow_rows",
    "check_file",
    "check_names",
    "check_observed",
    "check_rows",
    "code_of",
    "columns_have",
    "count",
    "count_codes",
    "count_ones",
    "count_slots",
    "count_table",
    "count_words",
    "describe_rows",
    "distinct_rows",
    "find_unseen",
    "is_few",
    "listed",
    "make_names",
    "moments_of_codes",
    "moments_of_table",
    "preview",
    "read_weights",
    "resolve_missing",
    "take_counted",
    "unknown_value",
    "weighted_moments",
]
