"""What every page that we write has to stand."""

from __future__ import annotations

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1><!--"

# Elements that nobody but a hostile text can have brought, and attributes that run scripts.
INTRUDERS = """
() => [...document.querySelectorAll("x-evil, [onclick], [onerror], [onload], [href^=javascript]")]
  .map((e) => e.outerHTML.slice(0, 200))
"""
EVIL = (
    "\"'></title></style></textarea></script><x-evil onclick=steal()>&lt;x&gt;</x-evil>"
    "<script>window.hacked=1</script><img src=x onerror=window.hacked=1><!-- {{cases}} ${1} \ud800"
)


def poisoned(value, kept=frozenset()):
    """The same data with something hostile at the end of every text, names of fields included."""
    if isinstance(value, str):
        return value + EVIL
    if isinstance(value, dict):
        return {key: one if key in kept else poisoned(one, kept) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [poisoned(one, kept) for one in value]
    return value


def loaded(page, pictures):
    """Waits until all of these pictures are there; strings may not be evaluated in a report."""
    for _ in range(200):
        if pictures.evaluate_all("all => all.every((i) => i.complete && i.naturalWidth)"):
            return
        page.wait_for_timeout(50)
    raise AssertionError("pictures are missing")


def barriers(page):
    """What axe-core finds, in words; needs a page without a policy."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        (one["id"], one["nodes"][0]["target"], one["nodes"][0]["failureSummary"]) for one in found
    ]
