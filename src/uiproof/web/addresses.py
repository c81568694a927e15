"""Map foreign URLs to files of npm packages.

    address = parse("https://unpkg.com/react@18/umd/react.development.js")   # None if malformed
    targets(address)                                        # package files
    choose_versions(["17.0.2", "18.3.1"], "^18.2.0")        # [("18.3.1", "")]

Hosts must match exactly. Ports, credentials and `..` in paths are refused. No file is touched here:
targets are looked up in the file list of the lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, unquote, urlsplit

MAX_ADDRESS = 4096  # characters
MAX_COMBINED = 10  # files that one URL may concatenate
_NAME = r"(?:@[a-z0-9][\w.~-]*/)?[A-Za-z0-9][\w.~-]*"
_SPEC = re.compile(rf"({_NAME})(?:@([^/]*))?(?:/(.*))?")
_PORTS = {"http": (None, 80), "https": (None, 443)}


@dataclass(frozen=True, slots=True)
class Address:
    """A well-formed foreign URL."""

    host: str
    path: str  # decoded, begins with a slash
    query: str


@dataclass(frozen=True, slots=True)
class Target:
    """A file of an npm package."""

    package: str
    version: str = ""  # as requested: exact, a range, a tag, or empty
    path: str = ""  # empty for the entry of the package
    folders: tuple[str, ...] = ()  # other folders that may hold the file
    entries: tuple[str, ...] = ("jsdelivr", "browser", "unpkg", "main")  # fields of package.json


@dataclass(frozen=True, slots=True)
class ModuleTarget:
    """A package, or a part of it, as an ES module built by a CDN."""

    package: str
    version: str = ""
    path: str = ""
    style: str = "esm.sh"  # or `jsdelivr`: the form of imports of other packages
    external: frozenset[str] = frozenset()  # imports left as they are; `*` means all
    deps: tuple[tuple[str, str], ...] = ()  # versions of other packages


Targets = list[Target | ModuleTarget]  # the files that a URL concatenates, mostly one


def parse(url: str) -> Address | None:
    """Return the parts of a URL; None if it is malformed or not allowed.

    Credentials, other ports and schemes, encoded slashes and `..` are not allowed.
    """
    if len(url) > MAX_ADDRESS or not url.isprintable():
        return None
    try:
        parts = urlsplit(url)
        port, path = parts.port, unquote(parts.path, errors="strict")
    except ValueError:
        return None
    if parts.scheme not in _PORTS or port not in _PORTS[parts.scheme]:
        return None
    if "@" in parts.netloc or parts.netloc.endswith(":") or not parts.netloc.isascii():
        return None
    steps = path.split("/")
    if not path.isprintable() or "%" in path or "\\" in path or {".", ".."} & set(steps):
        return None
    if "%2f" in parts.path.lower():
        return None
    return Address((parts.hostname or "").lower(), path or "/", parts.query)


def query_pairs(query: str) -> list[tuple[str, str]]:
    """Return the decoded fields of a query; none if there are more than 200."""
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return []


# --- versions -----------------------------------------------------------------------------------

_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-([0-9A-Za-z.-]{1,64}))?(?:\+.*)?")
_PARTIAL = re.compile(
    r"(\^|~|>=|>|<=|<|=)?\s*v?(\d{1,6}|[xX*])(?:\.(\d{1,6}|[xX*]))?(?:\.(\d{1,6}|[xX*]))?"
    r"(?:-([0-9A-Za-z.-]{1,64}))?"
)
_REVISION = re.compile(r"r(\d{1,4})")  # of three.js

Number = tuple[int, int, int, bool, str]  # prereleases come before the release


def number_of(version: str) -> Number | None:
    """Return a version in comparable form; None if it is not a version."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    return int(found[1]), int(found[2]), int(found[3]), found[4] is None, found[4] or ""


def choose_versions(available: Iterable[str], wanted: str) -> list[tuple[str, str]]:
    """Return the versions to serve, best first, each with a note if it is not the wanted one.

    An empty version, `latest` and other tags mean the newest version that has the file. A missing
    version or range is replaced by the nearest one of the same major version, never another one.
    """
    numbers = {one: number for one in available if (number := number_of(one))}
    released = [one for one in numbers if numbers[one][3]] or list(numbers)
    newest = sorted(released, key=lambda one: numbers[one], reverse=True)
    wanted = wanted.strip()
    if revision := _REVISION.fullmatch(wanted):
        wanted = f"0.{revision[1]}.0"
    if wanted in ("", "latest", "*", "x", "stable", "release"):
        # A page without a version was written for one that had the requested file.
        others = [(one, f"{one} instead of {newest[0]}") for one in newest[1:]]
        return [(one, "") for one in newest[:1]] + others
    if wanted in ("next", "beta", "rc", "alpha", "canary"):
        return [(one, "") for one in sorted(numbers, key=lambda one: numbers[one])[-1:]]
    asked = number_of(wanted)
    if asked is not None:
        exact = [one for one in numbers if numbers[one] == asked]
        if exact:
            return [(exact[0], "")]
    else:
        bounds = _bounds(wanted)
        if bounds is None:
            return []
        fitting = [one for one in newest if any(low <= numbers[one] < up for low, up in bounds)]
        if fitting:
            return [(one, "") for one in fitting]
        asked = min(low for low, _ in bounds)
    same = [one for one in numbers if numbers[one][0] == asked[0]]
    later = sorted((one for one in same if numbers[one] > asked), key=lambda one: numbers[one])
    earlier = sorted(set(same) - set(later), key=lambda one: numbers[one], reverse=True)
    return [(one, f"{one} instead of {wanted[:40]}") for one in (*later, *earlier)]


def _bounds(text: str) -> list[tuple[Number, Number]] | None:
    """Return the intervals of a version range; None if it is not one."""
    found = []
    for part in text[:200].split("||"):
        low, up = (0, 0, 0, True, ""), (10**7, 0, 0, False, "")
        joined = re.sub(r"([<>=^~])\s+", r"\1", part.replace(" - ", " <="))
        words = joined.split() or ["*"]
        for word in words:
            limits = _limits(word)
            if limits is None:
                return None
            low, up = max(low, limits[0]), min(up, limits[1])
        found.append((low, up))
    return found


def _limits(word: str) -> tuple[Number, Number] | None:
    match = _PARTIAL.fullmatch(word)
    if match is None:
        return None
    sign = match[1] or ""
    digits = [int(one) for one in match.group(2, 3, 4) if one and one.isdigit()]
    bottom: Number = (0, 0, 0, False, "")
    top: Number = (10**7, 0, 0, False, "")
    if not digits:
        return bottom, top
    major, minor, patch = (*digits, 0, 0)[:3]
    low: Number = (major, minor, patch, match[5] is None, match[5] or "")
    # The number of leading parts that are fixed, by the sign or by what is given.
    fixed = len(digits)
    if sign == "^":
        fixed = next((at + 1 for at, one in enumerate(digits) if one), len(digits))
    elif sign == "~":
        fixed = min(len(digits), 2)
    grown = [(major + 1, 0, 0), (major, minor + 1, 0), (major, minor, patch + 1)][fixed - 1]
    up: Number = (*grown, False, "")
    limits = {">=": (low, top), ">": (up, top), "<": (bottom, (*low[:3], False, ""))}
    return {**limits, "<=": (bottom, up)}.get(sign, (low, up))


# --- hosts --------------------------------------------------------------------------------------

_FOLDERS = (
    *("dist", "build", "umd", "dist/umd", "lib", "min", "css", "js", "dist/css", "dist/js"),
    *("fonts", "slick", "src/minified", "out", "font", "dist/bundles", "bundled", "build/player"),
)
# Libraries on cdnjs and similar hosts whose npm package has another name.
_CDNJS = {
    "three.js": "three",
    "threejs": "three",
    "p5.js": "p5",
    "dat-gui": "dat.gui",
    "lodash.js": "lodash",
    "underscore.js": "underscore",
    "moment.js": "moment",
    "jqueryui": "jquery-ui",
    "owlcarousel2": "owl.carousel",
    "highlight.js": "@highlightjs/cdn-assets",
    "prism": "prismjs",
    "normalize": "normalize.css",
    "materialize": "materialize-css",
    "sortable": "sortablejs",
    "limonte-sweetalert2": "sweetalert2",
    "htmx": "htmx.org",
    "babel-core": "babel-standalone",
    "animate": "animate.css",
    "splidejs": "@splidejs/splide",
    "tailwindcss-browser": "@tailwindcss/browser",
    "picocss": "@picocss/pico",
    "webfont": "webfontloader",
    "angularjs": "angular",
    "angular.js": "angular",
    "wow": "wow.js",
    "d3js": "d3",
    "material-ui": "@mui/material",
    "tween.js": "@tweenjs/tween.js",
    "twitter-bootstrap": "bootstrap",
    "material-design-icons": "material-icons",
    "foundation": "foundation-sites",
    "meyer-reset": "reset-css",
    "pure": "purecss",
    "skeleton": "skeleton-css",
    "jquery-easing": "jquery.easing",
    "jquery-validate": "jquery-validation",
    "jquery.isotope": "isotope-layout",
    "jquery.imagesloaded": "imagesloaded",
    "masonry": "masonry-layout",
    "magnific-popup.js": "magnific-popup",
    "scrollreveal.js": "scrollreveal",
    "bodymovin": "lottie-web",
    "cannon.js": "cannon",
    "fabric.js": "fabric",
    "paper.js": "paper",
    "rough": "roughjs",
    "interact.js": "interactjs",
    "filesaver.js": "file-saver",
    "toastr.js": "toastr",
    "handlebars.js": "handlebars",
    "mustache.js": "mustache",
    "clipboard.js": "clipboard",
    "require.js": "requirejs",
    "backbone.js": "backbone",
    "numeral.js": "numeral",
}
# Files whose name in the package differs from that on the host.
_RENAMED = {
    ("webfontloader", "webfont.js"): "webfontloader.js",
    ("typed.js", "typed.min.js"): "dist/typed.umd.js",
    ("typed.js", "lib/typed.min.js"): "dist/typed.umd.js",
    ("aframe", "aframe.min.js"): "dist/aframe-v1.7.1.min.js",
    ("aframe", "dist/aframe.min.js"): "dist/aframe-v1.7.1.min.js",
    ("@tabler/icons-webfont", "tabler-icons.min.css"): "dist/tabler-icons.min.css",
}
_GITHUB = {  # repositories with the same paths as a package
    "jquery/jquery": "jquery",
    "twbs/bootstrap": "bootstrap",
    "twbs/icons": "bootstrap-icons",
    "mrdoob/three.js": "three",
    "alpinejs/alpine": "alpinejs",
    "vuejs/vue": "vue",
    "michalsnik/aos": "aos",
    "greensock/gsap": "gsap",
    "processing/p5.js": "p5",
    "fortawesome/font-awesome": "@fortawesome/fontawesome-free",
    "animate-css/animate.css": "animate.css",
    "jgthms/bulma": "bulma",
    "highlightjs/cdn-release": "@highlightjs/cdn-assets",
}


def targets(address: Address) -> Targets:
    """Return the files that a URL refers to; none for a host without packages."""
    route = _HOSTS.get(address.host)
    return [_usual(one) for one in route(address)] if route else []


def _usual(target: Target | ModuleTarget) -> Target | ModuleTarget:
    """Return a target with version and path as in the package."""
    if isinstance(target, ModuleTarget):
        path = re.sub(r"^addons/", "examples/jsm/", target.path)
        return replace(target, path=path) if target.package == "three" else target
    if target.package in ("three", "stats.js") and re.fullmatch(r"\d{2,3}", target.version):
        return replace(target, version=f"r{target.version}")
    # The icons are the same in all versions, and in Ionic itself.
    if target.package in ("ionicons", "@ionic/core") and (
        icon := re.fullmatch(r"dist/(?:ionicons|ionic)/svg/([\w-]+\.svg)", target.path)
    ):
        return Target("ionicons", "7", f"dist/ionicons/svg/{icon[1]}")
    renamed = _RENAMED.get((target.package, target.path))
    return replace(target, path=renamed) if renamed else target


def _spec(text: str) -> tuple[str, str, str] | None:
    """Parse `@scope/name@version/path`."""
    found = _SPEC.fullmatch(text)
    return (found[1], found[2] or "", found[3] or "") if found else None


def _jsdelivr(address: Address) -> Targets:
    kind, _, rest = address.path[1:].partition("/")
    if kind == "combine":
        parts = rest.split(",")
        if len(parts) > MAX_COMBINED or not all(one.startswith("npm/") for one in parts):
            return []
        made = [_jsdelivr(Address(address.host, f"/{one}", "")) for one in parts]
        return [one[0] for one in made] if all(made) else []
    if kind == "gh":
        found = re.fullmatch(r"([^/@]+/[^/@]+)(?:@([^/]*))?/(.+)", rest)
        package = _GITHUB.get(found[1].lower()) if found else None
        if found is None or package is None:
            return []
        path = found[3].removeprefix("build/") if package.startswith("@highlightjs") else found[3]
        return [Target(package, found[2] or "", path)]
    if kind != "npm" or (spec := _spec(rest)) is None:
        return []
    name, version, path = spec
    if path == "+esm" or path.endswith("/+esm"):
        return [ModuleTarget(name, version, path[: -len("+esm")].strip("/"), "jsdelivr")]
    return [Target(name, version, path)]


def _esm_run(address: Address) -> Targets:
    spec = _spec(address.path[1:].removesuffix("/+esm"))
    return [ModuleTarget(*spec, "jsdelivr")] if spec else []


def _unpkg(address: Address) -> Targets:
    spec = _spec(address.path[1:])
    if spec is None:
        return []
    if "module" in dict(query_pairs(address.query)) and not spec[2]:
        return [ModuleTarget(*spec)]
    return [Target(*spec, entries=("unpkg", "main"))]


def _esm_sh(address: Address) -> Targets:
    rest = re.sub(r"^/(?:v\d+|stable|pin/v\d+)/", "/", address.path)[1:]
    star = rest.startswith("*")
    spec = _spec(rest.removeprefix("*"))
    if spec is None:
        return []
    name, version, path = spec
    version = version.partition("&")[0]  # options may follow the version
    options = dict(query_pairs(address.query))
    if {"css", "alias", "worker", "raw"} & options.keys():
        return []
    external = frozenset(filter(None, options.get("external", "").split(",")))
    deps = []
    for one in options.get("deps", "").split(",")[:20]:
        if (found := _spec(one)) and found[1]:
            deps.append((found[0], found[1]))
    if re.search(r"\.(css|json|svg|woff2?)$", path):
        return [Target(name, version, path)]
    path = re.sub(r"^(?:es\d+|esnext|X-[\w.]+)/", "", path)
    every = frozenset({"*"}) if star else external
    return [ModuleTarget(name, version, path, "esm.sh", every, tuple(deps))]


def _library(name: str, version: str, path: str) -> Targets:
    """Return the target for `NAME/VERSION/PATH` on a host of libraries."""
    if name.lower() == "font-awesome":
        return [_font_awesome(version, path)]
    if name.lower() == "babel-standalone":
        package = "babel-standalone" if version.startswith("6.") else "@babel/standalone"
        return [Target(package, version, path)]
    if name.lower() == "popper.js":
        package = "popper.js" if version.startswith("1.") else "@popperjs/core"
        return [Target(package, version, path, _FOLDERS)]
    package = _CDNJS.get(name.lower(), name.lower())
    if package in ("material-icons", "reset-css"):
        version = ""  # packages by others, with other version numbers
    return [Target(package, version, path, _FOLDERS)]


def _font_awesome(version: str, path: str) -> Target:
    package = "font-awesome" if re.match(r"[0-4]\.", version) else "@fortawesome/fontawesome-free"
    return Target(package, version, path)


def _libraries(prefix: str) -> Callable[[Address], Targets]:
    def route(address: Address) -> Targets:
        found = re.fullmatch(re.escape(prefix) + r"/([^/]+)/([^/]+)/(.+)", address.path)
        return _library(found[1], found[2], found[3]) if found else []

    return route


def _jquery(address: Address) -> Targets:
    path = address.path[1:]
    if found := re.fullmatch(r"jquery(?:-(\d[\w.]*?|latest))?((?:\.slim)?(?:\.min)?\.js)", path):
        # "latest" is permanently 1.11.1 on this host.
        version = {"latest": "1.11.1", None: "1.11.1"}.get(found[1], found[1])
        return [Target("jquery", _full(version), f"dist/jquery{found[2]}")]
    if found := re.fullmatch(r"ui/(\d[\w.]*)/(.+)", path):
        theme = re.sub(r"^themes/[\w-]+/", "themes/base/", found[2])  # the others are not on npm
        return [Target("jquery-ui", found[1], theme, _FOLDERS)]
    return []


def _full(version: str) -> str:
    return version if version.count(".") >= 2 else f"{version}.0"


def _bootstrap(address: Address) -> Targets:
    found = re.fullmatch(r"/(?:twitter-)?(bootstrap|font-awesome)/([^/]+)/(.+)", address.path)
    return _library(found[1], found[2], found[3]) if found else []


def _fontawesome_releases(address: Address) -> Targets:
    found = re.fullmatch(r"/releases/v?([\d.]+)/(.+)", address.path)
    return [_font_awesome(found[1], found[2])] if found else _kit(address)


def _kit(address: Address) -> Targets:
    """Serve all free icons for a kit, which is a user's selection of icons."""
    if re.fullmatch(r"/[0-9a-f]{8,12}\.js", address.path):
        return [Target("@fortawesome/fontawesome-free", "6", "js/all.min.js")]
    return []


def _tailwind(address: Address) -> Targets:
    if not re.fullmatch(r"/(?:3(?:\.\d+){0,2}/?)?", address.path):
        return []
    asked = set(filter(None, dict(query_pairs(address.query)).get("plugins", "").split(",")))
    known = {"forms", "typography", "aspect-ratio", "container-queries"}
    names = sorted(one.partition("@")[0] for one in asked if one.partition("@")[0] in known)
    suffix = "" if not names else f"-with-{names[0]}" if len(names) == 1 else "-with-all-plugins"
    return [Target("tailwindcss-cdn", "3", f"tailwindcss{suffix}.js", ("3.4.10",))]


def _aspnet(address: Address) -> Targets:
    if found := re.fullmatch(r"/ajax/jquery/(jquery-.+)", address.path, re.IGNORECASE):
        return _jquery(Address("code.jquery.com", f"/{found[1]}", ""))
    found = re.fullmatch(r"/ajax/(bootstrap|jquery\.ui)/([^/]+)/(.+)", address.path)
    return _library(found[1].replace("jquery.ui", "jqueryui"), *found.group(2, 3)) if found else []


def _d3(address: Address) -> Targets:
    found = re.fullmatch(r"/(d3|topojson)\.v(\d)(\.min)?\.js", address.path)
    return [Target(found[1], found[2], f"{found[1]}.min.js", _FOLDERS)] if found else []


def _npm_mirror(address: Address) -> Targets:
    """Parse `/NAME/VERSION/files/PATH`, the form of npmmirror.com."""
    path = address.path.removeprefix("/packages")
    found = re.fullmatch(rf"/({_NAME})/([^/]+)/files/(.+)", path)
    return [Target(found[1], found[2], found[3])] if found else []


def _jspm(address: Address) -> Targets:
    spec = _spec(address.path.removeprefix("/npm:")) if address.path.startswith("/npm:") else None
    return [Target(*spec)] if spec else []


def _site_of(package: str, pattern: str) -> Callable[[Address], Targets]:
    """Return a route for a host of one package; the pattern's groups are version and path."""

    def route(address: Address) -> Targets:
        found = re.fullmatch(pattern, address.path)
        return [Target(package, found[1] or "", found[2], _FOLDERS)] if found else []

    return route


def _datatables(address: Address) -> Targets:
    found = re.fullmatch(r"/(\d+\.\d+\.\d+)/((?:css|js)/.+)", address.path)
    if found is None:
        return []
    kind = "-bs5" if "bootstrap5" in found[2] else "-dt" if found[2].startswith("css") else ""
    return [Target(f"datatables.net{kind}", found[1], found[2])]


def _threejs(address: Address) -> Targets:
    return [Target("three", "", address.path[1:])]


_HOSTS: dict[str, Callable[[Address], Targets]] = {
    **dict.fromkeys(
        (
            *("cdn.jsdelivr.net", "fastly.jsdelivr.net", "gcore.jsdelivr.net"),
            *("testingcf.jsdelivr.net", "cdn.jsdmirror.com", "jsd.onmicrosoft.cn"),
        ),
        _jsdelivr,
    ),
    **dict.fromkeys(("unpkg.com", "www.unpkg.com", "unpkg.zhimg.com", "npm.elemecdn.com"), _unpkg),
    **dict.fromkeys(("esm.sh", "cdn.esm.sh", "cdn.skypack.dev"), _esm_sh),
    "esm.run": _esm_run,
    **dict.fromkeys(
        ("cdnjs.cloudflare.com", "ajax.googleapis.com", "cdn.bootcdn.net", "cdnjs.loli.net"),
        _libraries("/ajax/libs"),
    ),
    **dict.fromkeys(
        ("cdn.bootcss.com", "cdn.staticfile.org", "cdn.staticfile.net", "lib.baomitu.com"),
        _libraries(""),
    ),
    **dict.fromkeys(
        (f"lf{number}-cdn-tos.bytecdntp.com" for number in (3, 6, 9, 26)),
        _libraries("/cdn/expire-1-M"),
    ),
    "code.jquery.com": _jquery,
    **dict.fromkeys(
        ("stackpath.bootstrapcdn.com", "maxcdn.bootstrapcdn.com", "netdna.bootstrapcdn.com"),
        _bootstrap,
    ),
    "use.fontawesome.com": _fontawesome_releases,
    "kit.fontawesome.com": _kit,
    "cdn.tailwindcss.com": _tailwind,
    **dict.fromkeys(("ajax.aspnetcdn.com", "ajax.microsoft.com"), _aspnet),
    **dict.fromkeys(("d3js.org", "www.d3js.org"), _d3),
    **dict.fromkeys(("threejs.org", "www.threejs.org"), _threejs),
    **dict.fromkeys(("registry.npmmirror.com", "cdn.npmmirror.com"), _npm_mirror),
    "ga.jspm.io": _jspm,
    "aframe.io": _site_of("aframe", r"/releases/([\d.]+)/(aframe(?:\.min)?\.js)"),
    "cdn.quilljs.com": _site_of("quill", r"/([\d.]+)/([\w.]+)"),
    "cdn.simplecss.org": _site_of("simpledotcss", r"()/(simple(?:\.min)?\.css)"),
    "www.w3schools.com": _site_of("w3-css", r"/w3css/(4)/(w3\.css)"),
    "cdn.datatables.net": _datatables,
}
