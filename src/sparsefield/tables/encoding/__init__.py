"""Columns of anything, as codes of levels."""
