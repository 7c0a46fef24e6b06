"""Chains and draws on many machines."""
