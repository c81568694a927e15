"""Other programs: evaluations with inspect_ai, experiment trackers."""
