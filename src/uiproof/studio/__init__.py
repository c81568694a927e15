"""The web app: browse runs, annotate results, measure agreement, correct data sets.

from uiproof.studio import serve_studio
serve_studio(Path("runs"))
"""

from uiproof.studio.server import open_store, serve_studio
from uiproof.studio.store import Store

__all__ = ["Store", "open_store", "serve_studio"]
