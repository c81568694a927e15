"""Integrations with inspect_ai, MCP, pytest and experiment trackers."""
