"""Labels in and out as files."""
