"""What the judge does to a generated page, and what it measures."""
