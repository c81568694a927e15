"""Data sets: boxes on screenshots, and corrections of collected interactions."""
