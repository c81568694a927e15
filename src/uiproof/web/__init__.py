"""Answer requests of pages to other hosts from frozen copies, without a network.

web = FrozenWeb.installed()                       # the set on this machine, if any
web = FrozenWeb.installed(Path("pages.web.zip"))  # with an archive recorded for some pages
web.answer("https://cdn.tailwindcss.com")         # an Answer, or None if not available
"""

from __future__ import annotations

from uiproof.web.frozen import Answer, FrozenWeb

__all__ = ["Answer", "FrozenWeb"]
