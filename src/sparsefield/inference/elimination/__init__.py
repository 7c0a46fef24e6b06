"""Exact moments of sparse fields, by elimination over cliques."""
