"""Files and frames of many formats, as columns."""
