"""Scores over HTTP, for training loops: HTML in, scores out."""
