"""Tables from files, frames and sheets: reading, encoding, and what looks odd."""

from sparsefield.tables.encoding._encode import MAX_LEVELS, encode
from sparsefield.tables.encoding._ordered import Ordinal
from sparsefield.tables.encoding._row_names import is_numbering, names_rows
from sparsefield.tables.encoding._variants import list_variants
from sparsefield.tables.parts._count_data import count_data, count_parts, find_large, find_parts, open_rows, read_rows
from sparsefield.tables.parts._parts import LazyParts
from sparsefield.tables.reading._contents import Contents, ReadingWarning
from sparsefield.tables.reading._reading import MISSING_MARKERS, read_contents, read_table
from sparsefield.tables.reading._source import as_address
from sparsefield.tables.reading._taken_words import DOUBTFUL_MARKERS, find_taken, has_gaps
from sparsefield.tables.sequences._alignments import AMINO_ACIDS, Alignment, read_alignment, sequence_weights
from sparsefield.tables.suspicions._odd_levels import FEW_LEVELS
from sparsefield.tables.suspicions._suspicions import find_suspicions

__all__ = [
    "AMINO_ACIDS",
    "DOUBTFUL_MARKERS",
    "FEW_LEVELS",
    "MAX_LEVELS",
    "MISSING_MARKERS",
    "Alignment",
    "Contents",
    "LazyParts",
    "Ordinal",
    "ReadingWarning",
    "as_address",
    "count_data",
    "count_parts",
    "encode",
    "find_large",
    "find_parts",
    "find_suspicions",
    "find_taken",
    "has_gaps",
    "is_numbering",
    "list_variants",
    "names_rows",
    "open_rows",
    "read_alignment",
    "read_contents",
    "read_rows",
    "read_table",
    "sequence_weights",
]
