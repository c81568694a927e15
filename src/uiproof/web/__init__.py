"""Answer what pages load from elsewhere from frozen copies, without a network.

web = FrozenWeb.installed()                       # the set on this machine, if there is one
web = FrozenWeb.installed(Path("pages.web.zip"))  # and what was recorded for some pages
web.answer("https://cdn.tailwindcss.com")         # an Answer, or None: not available
"""

from __future__ import annotations

from uiproof.web.frozen import Answer, FrozenWeb

__all__ = ["Answer", "FrozenWeb"]
