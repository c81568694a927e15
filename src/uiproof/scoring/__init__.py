"""Scores of single pages from a warm pool of judges: for notebooks, training loops, the service."""
