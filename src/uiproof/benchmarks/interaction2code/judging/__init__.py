"""Acting on generated pages, and measuring what happens."""
