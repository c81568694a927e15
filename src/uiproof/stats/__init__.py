"""Intervals and tests: functions on arrays, no state."""
