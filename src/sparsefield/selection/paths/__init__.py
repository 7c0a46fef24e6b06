"""Fits with smaller and smaller penalties, and their log-likelihoods."""
