"""Exact draws, by bounding chains and coupling from the past."""
