"""Runs: cases go through a method and a judge, and how each one ended goes into a journal."""
