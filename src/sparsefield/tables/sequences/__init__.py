"""Aligned sequences of proteins."""
