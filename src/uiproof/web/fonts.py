"""Google Fonts: generated style sheets for requested families, and their font files.

Files come from `@fontsource` packages: one per subset and style, and per weight of a family that
is not variable. Chinese, Japanese and Korean families are the operating system's fonts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from uiproof.web.addresses import query_pairs
from uiproof.web.packages import Files

FONT_VERSION = "5.3.0"  # of all @fontsource packages
FILES_HOST = "https://fonts.gstatic.com"
MAX_FACES = 400  # per style sheet; a page may request any number of weights
# Unicode ranges of the two subsets, as in Google's style sheets.
SUBSETS = {
    "latin-ext": "U+0100-02BA,U+02BD-02C5,U+02C7-02CC,U+02CE-02D7,U+02DD-02FF,U+0304,U+0308,U+0329,"
    "U+1D00-1DBF,U+1E00-1E9F,U+1EF2-1EFF,U+2020,U+20A0-20AB,U+20AD-20C0,U+2113,U+2C60-2C7F,"
    "U+A720-A7FF",
    "latin": "U+0000-00FF,U+0131,U+0152-0153,U+02BB-02BC,U+02C6,U+02DA,U+02DC,U+0304,U+0308,U+0329,"
    "U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212,U+2215,U+FEFF,U+FFFD",
}
_VARIABLE = """
Albert Sans|Archivo|Arimo|Assistant|Baloo 2|Bitter|Bodoni Moda|Bricolage Grotesque|Cabin|Caveat
Cinzel|Comfortaa|Cormorant|Cormorant Garamond|Crimson Pro|DM Sans|Dancing Script|Dosis|EB Garamond
Epilogue|Exo 2|Figtree|Fira Code|Fraunces|Fredoka|Geist|Geist Mono|Hanken Grotesk|Heebo|Inconsolata
Instrument Sans|Inter|Inter Tight|JetBrains Mono|Josefin Sans|Jost|Karla|Lexend|Libre Baskerville
Libre Franklin|Lora|Manrope|Merriweather|Montserrat|Mulish|Newsreader|Noto Sans|Noto Serif|Nunito
Nunito Sans|Onest|Open Sans|Orbitron|Oswald|Outfit|Oxanium|Pixelify Sans|Playfair Display
Plus Jakarta Sans|Public Sans|Quicksand|Raleway|Red Hat Display|Roboto|Roboto Condensed|Roboto Mono
Roboto Slab|Rubik|Schibsted Grotesk|Sora|Source Code Pro|Source Sans 3|Source Serif 4|Space Grotesk
Syne|Teko|Unbounded|Urbanist|Work Sans
"""
_STATIC = """
Abril Fatface|Alex Brush|Alfa Slab One|Allura|Amatic SC|Anton|Architects Daughter|Archivo Black
Arvo|Audiowide|Bangers|Barlow|Bebas Neue|Black Ops One|Bungee|Courgette|Courier Prime|Creepster
Crimson Text|DM Mono|DM Serif Display|DM Serif Text|Fira Sans|Fjalla One|Great Vibes|Hind
IBM Plex Mono|IBM Plex Sans|Indie Flower|Instrument Serif|Kaushan Script|Lato|Lobster
Luckiest Guy|Marcellus|Michroma|Monoton|PT Sans|PT Serif|Pacifico|Parisienne|Patrick Hand
Permanent Marker|Play|Poppins|Prata|Press Start 2P|Questrial|Rajdhani|Righteous|Russo One
Sacramento|Satisfy|Shadows Into Light|Share Tech Mono|Silkscreen|Space Mono|Special Elite
Staatliches|Syncopate|Tangerine|Titillium Web|Ubuntu|Ubuntu Mono|VT323|Varela Round|Yeseva One
"""
# Renamed families of the same design.
_ALIASES = {
    "sourcesanspro": "sourcesans3",
    "sourceserifpro": "sourceserif4",
    "fredokaone": "fredoka",
    "muli": "mulish",
}
# Icon fonts with their package and file.
_ICONS = {
    "Material Icons": ("material-icons", "iconfont/material-icons.woff2"),
    "Material Icons Outlined": ("material-icons", "iconfont/material-icons-outlined.woff2"),
    "Material Icons Round": ("material-icons", "iconfont/material-icons-round.woff2"),
    "Material Icons Sharp": ("material-icons", "iconfont/material-icons-sharp.woff2"),
    "Material Icons Two Tone": ("material-icons", "iconfont/material-icons-two-tone.woff2"),
    **{
        f"Material Symbols {one}": (
            f"@fontsource-variable/material-symbols-{one.lower()}",
            f"files/material-symbols-{one.lower()}-latin-fill-normal.woff2",  # axes FILL and wght
        )
        for one in ("Outlined", "Rounded", "Sharp")
    },
}
ICON_PACKAGES = {
    f"{package}@5.3.8": [file]
    for package, file in _ICONS.values()
    if package.startswith("@fontsource")
}
# Families of the packages fonts-noto-cjk and fonts-noto-color-emoji, by their local names.
_LOCAL = {
    **{f"Noto Sans {one}": f"Noto Sans CJK {one}" for one in ("SC", "TC", "HK", "JP", "KR")},
    **{f"Noto Serif {one}": f"Noto Serif CJK {one}" for one in ("SC", "TC", "HK", "JP", "KR")},
    "Noto Color Emoji": "Noto Color Emoji",
}
_BOLD = 600  # from this weight on, the bold file of a local family is used


def key_of(name: str) -> str:
    """Return a family's name as in URLs of font files."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@dataclass(frozen=True, slots=True)
class Family:
    """A family and its npm package."""

    name: str
    is_variable: bool

    @property
    def slug(self) -> str:
        """Return the name as in @fontsource packages."""
        return self.name.lower().replace(" ", "-")

    @property
    def package(self) -> str:
        """Return the name of the package on npm."""
        return f"@fontsource{'-variable' if self.is_variable else ''}/{self.slug}"

    def patterns(self) -> list[str]:
        """Return patterns of the files that are part of the default set."""
        styles = ("wght-*",) if self.is_variable else ("?00-normal", "[4-7]00-italic")
        return [f"files/{self.slug}-{subset}-{one}.woff2" for subset in SUBSETS for one in styles]

    def styles(self, files: Files) -> dict[tuple[str, str], set[str]]:
        """Return the subsets of each weight (`wght` or `400`) and style in a package."""
        found: dict[tuple[str, str], set[str]] = {}
        for path in files:
            name = path.removeprefix(f"files/{self.slug}-")
            if parts := re.fullmatch(r"(latin|latin-ext)-(wght|\d+)-(normal|italic)\.woff2", name):
                found.setdefault((parts[2], parts[3]), set()).add(parts[1])
        return found


def _families() -> dict[str, Family]:
    made = {}
    for names, is_variable in ((_VARIABLE, True), (_STATIC, False)):
        for name in re.split(r"[|\n]", names.strip()):
            made[key_of(name)] = Family(name, is_variable)
    return made


FAMILIES: Mapping[str, Family] = _families()
ICONS = {key_of(name): (name, *where) for name, where in _ICONS.items()}
LOCALS = {key_of(name): (name, local) for name, local in _LOCAL.items()}


# --- requests -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wish:
    """A requested family and its styles: italic, and a weight or a range of weights."""

    name: str
    styles: tuple[tuple[bool, int, int], ...] = ((False, 400, 400),)


def parse_query(path: str, query: str) -> list[Wish] | None:
    """Return the families requested from `/css`, `/css2` or `/icon`; None for other paths."""
    parse = {"/css": _wishes_1, "/icon": _wishes_1, "/css2": _wishes_2}.get(path.rstrip("/"))
    if parse is None:
        return None
    families = [value for key, value in query_pairs(query) if key == "family"]
    return [wish for one in families for wish in parse(one)][:50]


def _wishes_1(value: str) -> Iterator[Wish]:
    """Parse `Roboto:400,700italic|Open Sans:b,i`."""
    for part in value.split("|"):
        name, _, variants = part.partition(":")
        styles = [style for one in variants.split(":")[0].split(",") if (style := _variant(one))]
        if name.strip():
            yield Wish(name.strip(), tuple(dict.fromkeys(styles)) or Wish("").styles)


def _variant(text: str) -> tuple[bool, int, int] | None:
    text = text.strip().lower()
    named = {"regular": "400", "r": "400", "bold": "700", "b": "700", "bi": "700i", "i": "400i"}
    named |= {"italic": "400i", "bolditalic": "700i", "light": "300", "medium": "500"}
    found = re.fullmatch(r"(\d{1,4})(i|italic)?", named.get(text, text))
    if found is None:
        return None
    return bool(found[2]), int(found[1]), int(found[1])


def _wishes_2(value: str) -> Iterator[Wish]:
    """Parse `Inter:ital,wght@0,400;1,100..900`; other axes are ignored."""
    name, _, rest = value.partition(":")
    axes_text, _, tuples = rest.partition("@")
    axes = axes_text.split(",")
    styles = []
    for one in tuples.split(";")[:50] if tuples else []:
        values = dict(zip(axes, one.split(","), strict=False))
        low, _, high = values.get("wght", "400").partition("..")
        if low.isdecimal() and (not high or high.isdecimal()):
            weight = min(int(low[:5]), 1000)
            styles.append((values.get("ital") == "1", weight, min(int(high[:5] or weight), 1000)))
    if not styles and "ital" in axes:
        styles = [(True, 400, 400)]
    if name.strip():
        yield Wish(name.strip(), tuple(dict.fromkeys(styles)) or Wish("").styles)


# --- responses ----------------------------------------------------------------------------------


def write_sheet(
    wishes: Iterable[Wish], files_of: Mapping[str, Files], display: str
) -> tuple[str, list[str]]:
    """Return the style sheet for families, and the names of those that are missing.

    `files_of` has the files of each npm package.
    """
    blocks: list[str] = []
    missing: list[str] = []
    show = display if display in {"auto", "block", "swap", "fallback", "optional"} else ""
    for wish in wishes:
        key = _ALIASES.get(key_of(wish.name), key_of(wish.name))
        made: list[str] = []
        if (family := FAMILIES.get(key)) and (files := files_of.get(family.package)):
            made = list(_faces(wish, family, files, show))
        elif key in ICONS and ICONS[key][2] in files_of.get(ICONS[key][1], {}):
            made = _icon_rules(ICONS[key][0])
        elif key in LOCALS:
            made = [_local_face(*LOCALS[key], style, show) for style in wish.styles]
        blocks += made
        if not made:
            missing.append(wish.name[:80])
    return "\n".join(blocks[:MAX_FACES]), missing


def _faces(wish: Wish, family: Family, files: Files, display: str) -> Iterator[str]:
    # The page refers to an alias by its old name.
    shown = wish.name if key_of(wish.name) != key_of(family.name) else family.name
    available = family.styles(files)
    for italic, low, high in wish.styles:
        for weight, file_weight, style in _choose(available, italic, low, high):
            for subset in SUBSETS:
                if subset in available[file_weight, style]:
                    name = f"{subset}-{file_weight}-{style}.woff2"
                    yield _face(
                        shown,
                        "italic" if italic else "normal",
                        weight,
                        f"url({FILES_HOST}/s/{key_of(family.name)}/{name}) format('woff2')",
                        display,
                        SUBSETS[subset],
                    )


def _choose(
    available: Mapping[tuple[str, str], set[str]], italic: bool, low: int, high: int
) -> Iterator[tuple[str, str, str]]:
    """Yield the declared weight, and the weight and style of the file."""
    style = "italic" if italic else "normal"
    if italic and not any(one == "italic" for _, one in available):
        return  # the browser slants the upright file, as with Google's style sheets
    if ("wght", style) in available:
        yield (f"{low} {high}" if low != high else str(low)), "wght", style
        return
    weights = sorted(int(weight) for weight, one in available if one == style)
    chosen = [one for one in weights if low <= one <= high]
    for one in chosen or [min(weights, key=lambda weight: abs(weight - low))] if weights else []:
        yield str(one), str(one), style


def _face(
    name: str, style: str, weight: str, source: str, display: str, characters: str = ""
) -> str:
    lines = [
        f"font-family: '{_escaped(name)}';",
        f"font-style: {style};",
        f"font-weight: {weight};",
    ]
    lines += [f"font-display: {display};"] if display else []
    lines += [f"src: {source};"]
    lines += [f"unicode-range: {characters};"] if characters else []
    return "@font-face {\n" + "".join(f"  {line}\n" for line in lines) + "}"


def _escaped(name: str) -> str:
    return re.sub(r"[^\w \-]", "", name)


def _local_face(name: str, local: str, style: tuple[bool, int, int], display: str) -> str:
    _, low, high = style
    is_bold = low >= _BOLD
    full = f"{local} Bold" if is_bold else local
    post = re.sub(r"(SC|TC|HK|JP|KR)$", lambda one: one[0].lower(), local.replace(" ", ""))
    names = (full, f"{post}-{'Bold' if is_bold else 'Regular'}", local)
    weight = f"{low} {high}" if low != high else str(low)
    source = ", ".join(f"local('{one}')" for one in dict.fromkeys(names))
    return _face(name, "normal", weight, source, display)


def _icon_rules(name: str) -> list[str]:
    weight = "100 700" if "Symbols" in name else "400"
    source = f"url({FILES_HOST}/s/{key_of(name)}/icons.woff2) format('woff2')"
    rule = (
        f".{name.lower().replace(' ', '-')} {{ font-family: '{name}'; font-weight: normal; "
        "font-style: normal; font-size: 24px; line-height: 1; letter-spacing: normal; "
        "text-transform: none; display: inline-block; white-space: nowrap; word-wrap: normal; "
        "direction: ltr; -webkit-font-feature-settings: 'liga'; "
        "-webkit-font-smoothing: antialiased; }"
    )
    return [_face(name, "normal", weight, source, ""), rule]


def find_file(path: str, files_of: Mapping[str, Files]) -> tuple[str, str, str] | None:
    """Return package, file and a note for a path on the host of font files.

    Google's file names are digests, which do not tell the style, so the upright latin file of the
    family is served for them.
    """
    parts = path.strip("/").split("/")
    if len(parts) < 3 or parts[0] != "s":
        return None
    key = _ALIASES.get(parts[1], parts[1])
    if key in ICONS:
        _, package, file = ICONS[key]
        return (package, file, "") if file in files_of.get(package, {}) else None
    family = FAMILIES.get(key)
    files = files_of.get(family.package) if family else None
    if family is None or files is None:
        return None
    exact = f"files/{family.slug}-{parts[-1]}"
    if exact in files:
        return family.package, exact, ""
    for weight in ("wght", "400"):
        fallback = f"files/{family.slug}-latin-{weight}-normal.woff2"
        if fallback in files and parts[-1].endswith(("woff2", "woff", "ttf")):
            return family.package, fallback, f"{family.name}, latin, {weight} instead of this file"
    return None
