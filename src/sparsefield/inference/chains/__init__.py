"""Gibbs chains, blocks of them at once."""
