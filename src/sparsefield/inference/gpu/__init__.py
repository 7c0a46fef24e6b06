"""Chains and draws on a GPU."""
