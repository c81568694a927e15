"""Runs, and what the report shows of them, live."""
