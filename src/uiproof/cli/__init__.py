"""The command line: verbs that parse, call one public function and print."""

from uiproof.cli.main import app, main

__all__ = ["app", "main"]
