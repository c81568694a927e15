"""The frozen web: which URLs have responses, from which source, and that no others do."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from uiproof.cli.main import app
from uiproof.errors import DownloadError, InputError
from uiproof.settings import Settings
from uiproof.web import FrozenWeb
from uiproof.web.addresses import choose_versions
from uiproof.web.archive import Archive, Entry, Index, asked_by_page, record
from uiproof.web.packages import Lock, Store, get

HOSTS = """\
unpkg.com cdn.jsdelivr.net/npm esm.sh fonts.googleapis.com/css2 placehold.co ui-avatars.com/api
images.unsplash.com cdnjs.cloudflare.com/ajax/libs fonts.gstatic.com cdn.tailwindcss.com [ @
"""


@pytest.fixture(scope="module")
def web() -> FrozenWeb:
    """Return the whole set, where this machine has it."""
    found = FrozenWeb(Settings.from_environment().web_dir)
    if len(found.packages) < len(Lock.packaged().packages):
        pytest.skip("the frozen web is not here: uiproof web get")
    return found


@pytest.fixture
def small(tmp_path: Path) -> FrozenWeb:
    """Return a set of one package, made here."""
    store = Store(tmp_path)
    files = {
        "package.json": b'{"main": "lib/one.js"}',
        "lib/one.js": b"one",
        "lib/two.min.css": b"two",
    }
    packages = {"one@1.2.0": {path: store.write(data) for path, data in files.items()}}
    return FrozenWeb(tmp_path, lock=_lock(packages))


def _lock(packages: dict[str, dict[str, str]]) -> Lock:
    return Lock.parse(json.dumps({"date": "2025-01-01", "packages": packages}).encode())


# --- addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "path", "note"),
    [
        ("https://unpkg.com/one@1.2.0/lib/one.js", "one", ""),
        ("http://unpkg.com:80/one@1.2.0/lib/one.js?x=1", "one", ""),
        ("https://unpkg.com/one", "one", ""),
        ("https://cdn.jsdelivr.net/npm/one", "one", ""),
        ("https://cdn.jsdelivr.net/npm/one@1/lib/one.min.js", "one", ""),
        ("https://cdn.jsdelivr.net/npm/one@^1.1.0/lib/two.css", "two", ""),
        ("https://cdn.jsdelivr.net/npm/one@1.0.5/lib/one.js", "one", "1.2.0 instead of 1.0.5"),
        ("https://cdn.jsdelivr.net/npm/one@1.9/lib/one.js", "one", "1.2.0 instead of 1.9"),
        ("https://cdn.jsdelivr.net/combine/npm/one/lib/one.js,npm/one/lib/two.css", "one\ntwo", ""),
        ("https://cdnjs.cloudflare.com/ajax/libs/one/1.2.0/one.min.js", "one", ""),
        ("https://registry.npmmirror.com/one/1.2.0/files/lib/one.js", "one", ""),
        ("https://ga.jspm.io/npm:one@1.2.0/lib/one.js", "one", ""),
        ("https://cdn.jsdelivr.net/npm/one@1.2.0/LIB/One.js", "one", ""),
    ],
)
def test_an_address_of_a_cdn_means_a_file_of_a_package(
    small: FrozenWeb, address: str, path: str, note: str
) -> None:
    answer = small.answer(address)

    assert answer is not None
    assert (answer.body.decode(), answer.note, answer.source) == (path, note, "frozen")


@pytest.mark.parametrize(
    "address",
    [
        "https://unpkg.com/one@2/lib/one.js",
        "https://unpkg.com/one@1.2.0/lib/none.js",
        "https://unpkg.com/one/lib/../lib/one.js",
        "https://unpkg.com/one/lib/%2e%2e/lib/one.js",
        "https://unpkg.com/one%2flib/one.js",
        "https://unpkg.com/one/lib/%252e%252e/one.js",
        "https://unpkg.com/one/..%5c..%5cetc/passwd",
        "https://user:word@unpkg.com/one",
        "https://unpkg.com:8443/one",
        "https://unpkg.com:/one",
        "https://unpkg.com./one",
        "https://unpkg.com.evil.example/one",
        "https://evilunpkg.com/one",
        "https://unpkg.com\\@evil.example/one",
        "https://registry.npmmirror.com/one/1.2.0/files/../../../etc/passwd",
        "https://registry.npmmirror.com/one/1.2.0/files/%2e%2e/lib/one.js",
        "https://registry.npmmirror.com.evil.example/one/1.2.0/files/lib/one.js",
        "https://user@registry.npmmirror.com/one/1.2.0/files/lib/one.js",
        "https://ga.jspm.io/npm:../../etc/passwd",
        "https://ga.jspm.io:8443/npm:one@1.2.0/lib/one.js",
        "https://unpkg.com/one@" + "||".join(["1"] * 900) + "/../one.js",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/one",
        "ftp://unpkg.com/one",
        "file:///etc/passwd",
        "https://unpkg.com/one?" + "x" * 5000,
        "https://picsum.photos.evil.example/200",
        "https://polyfill.io/v3/polyfill.min.js",
        "",
    ],
)
def test_other_hosts_majors_and_detours_have_no_answer(small: FrozenWeb, address: str) -> None:
    assert small.answer(address) is None


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("", "18.3.1"),
        ("latest", "18.3.1"),
        ("next", "19.0.0-rc.1"),
        ("17", "17.0.2"),
        ("17.x", "17.0.2"),
        ("^17.0.0", "17.0.2"),
        ("~18.3", "18.3.1"),
        (">=17 <18", "17.0.2"),
        ("^16 || ^17", "17.0.2"),
        (">= 16 || ^19.0.0-rc", "18.3.1"),
        ("18.2.0", "18.3.1"),
        ("17.9.9", "17.0.2"),
        ("0.9.0", None),
        ("r128", None),
        ("../..", None),
    ],
)
def test_versions_are_chosen_within_their_major(wanted: str, chosen: str | None) -> None:
    found = choose_versions(["17.0.2", "18.3.1", "19.0.0-rc.1"], wanted)

    assert (found[0][0] if found else None) == chosen


@pytest.mark.parametrize(
    "address",
    [
        "https://cdn.tailwindcss.com",
        "https://cdn.tailwindcss.com/3.4.16?plugins=forms,typography",
        "https://cdn.jsdelivr.net/npm/@tailwindcss/browser@4",
        "https://unpkg.com/tailwindcss@^2/dist/tailwind.min.css",
        "https://unpkg.com/@babel/standalone/babel.min.js",
        "https://unpkg.com/react@18/umd/react.development.js",
        "https://unpkg.com/react-dom@18.2.0/umd/react-dom.production.min.js",
        "https://cdnjs.cloudflare.com/ajax/libs/font-awesome/6.0.0-beta3/css/all.min.css",
        "https://cdnjs.cloudflare.com/ajax/libs/font-awesome/5.15.3/webfonts/fa-solid-900.woff2",
        "https://cdnjs.cloudflare.com/ajax/libs/font-awesome/4.7.0/css/font-awesome.min.css",
        "https://cdnjs.cloudflare.com/ajax/libs/three.js/r128/three.min.js",
        "https://cdnjs.cloudflare.com/ajax/libs/Chart.js/3.7.1/chart.min.js",
        "https://cdnjs.cloudflare.com/ajax/libs/animate.css/4.1.1/animate.min.css",
        "https://cdnjs.cloudflare.com/ajax/libs/gsap/3.12.2/ScrollTrigger.min.js",
        "https://cdnjs.cloudflare.com/ajax/libs/p5.js/1.4.0/p5.js",
        "https://cdnjs.cloudflare.com/ajax/libs/lodash.js/4.17.21/lodash.min.js",
        "https://cdnjs.cloudflare.com/ajax/libs/babel-standalone/7.23.5/babel.min.js",
        "https://cdnjs.cloudflare.com/ajax/libs/popper.js/1.14.7/umd/popper.min.js",
        "https://code.jquery.com/jquery-3.6.0.slim.min.js",
        "https://code.jquery.com/ui/1.13.2/themes/smoothness/jquery-ui.css",
        "https://ajax.googleapis.com/ajax/libs/jquery/3.5.1/jquery.min.js",
        "https://ajax.aspnetcdn.com/ajax/jQuery/jquery-3.4.1.min.js",
        "https://stackpath.bootstrapcdn.com/bootstrap/4.5.2/css/bootstrap.min.css",
        "https://maxcdn.bootstrapcdn.com/font-awesome/4.7.0/fonts/fontawesome-webfont.woff2?v=4.7.0",
        "https://use.fontawesome.com/releases/v5.15.4/css/all.css",
        "https://kit.fontawesome.com/a076d05399.js",
        "https://cdn.jsdelivr.net/npm/bootstrap@5.3.2/dist/js/bootstrap.bundle.min.js",
        "https://cdn.jsdelivr.net/npm/bootstrap-icons@1.11.1/font/bootstrap-icons.css",
        "https://cdn.jsdelivr.net/npm/chart.js",
        "https://cdn.jsdelivr.net/npm/vue@3",
        "https://unpkg.com/vue@3/dist/vue.global.js",
        "https://cdn.jsdelivr.net/npm/alpinejs@3.x.x/dist/cdn.min.js",
        "https://unpkg.com/htmx.org@1.9.10",
        "https://unpkg.com/lucide@latest",
        "https://unpkg.com/aos@next/dist/aos.js",
        "https://cdn.jsdelivr.net/npm/daisyui@4.4.19/dist/full.min.css",
        "https://cdn.jsdelivr.net/npm/@ionic/core/css/ionic.bundle.css",
        "https://d3js.org/d3.v7.min.js",
        "https://fonts.googleapis.com/icon?family=Material+Icons",
        "https://fonts.gstatic.com/s/opensans/v40/memvYaGs126MiZpBA-UvWbX2vVnXBbObj2OVTS-mu0SC55I.woff2",
    ],
)
def test_addresses_that_pages_use_are_in_the_default_set(web: FrozenWeb, address: str) -> None:
    answer = web.answer(address)

    assert answer is not None
    assert len(answer.body) > 200


def test_addresses_as_models_write_them_have_answers_of_their_kind(web: FrozenWeb) -> None:
    """Versions, ranges, `latest`, `+esm`, options of esm.sh, mirrors, fonts: one line each."""
    lines = (Path(__file__).parent / "addresses.txt").read_text().splitlines()
    wrong = []
    for address in lines[1:]:
        host, _, path = address.partition("//")[2].partition("/")
        is_module = host in ("esm.sh", "esm.run", "cdn.skypack.dev") or "+esm" in path
        is_module |= path.endswith("?module")
        if is_module and not web.modules:
            continue  # they are built with npm
        answer = web.answer(address)
        suffix = Path(path.partition("?")[0]).suffix
        kinds = {".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
        kinds |= {".json": "application/json"}
        kind = "text/css" if host == "fonts.googleapis.com" else kinds.get(suffix, "text/")
        kind = "text/javascript" if is_module else kind
        if answer is None or not answer.content_type.startswith(kind) or len(answer.body) < 20:
            wrong.append(address)
    assert len(lines) > 150
    assert not wrong


def test_a_module_of_jsdelivr_has_a_default_export(web: FrozenWeb) -> None:
    if not web.modules:
        pytest.skip("modules were not built here: uiproof web get, with npm")
    asked = web.answer("https://cdn.jsdelivr.net/npm/ionicons/+esm")
    assert asked is not None
    own = re.search(r'"(/npm/ionicons@[^"]+)"', asked.body.decode())
    assert own is not None
    module = web.answer(f"https://cdn.jsdelivr.net{own[1]}")

    assert module is not None
    assert b"export { default } from" in asked.body
    assert b"export default null" in module.body


def test_what_a_style_sheet_of_the_set_loads_is_in_the_set(web: FrozenWeb) -> None:
    for address in (
        "https://cdnjs.cloudflare.com/ajax/libs/font-awesome/6.4.0/css/all.min.css",
        "https://cdn.jsdelivr.net/npm/bootstrap-icons@1.11.0/font/bootstrap-icons.css",
    ):
        page = f'<link rel=stylesheet href="{address}">'.encode()
        assert asked_by_page(page) == [address]
        sheet = web.answer(address)
        assert sheet is not None
        files = re.findall(r"url\(\"?(?:\.\./|\./)?([^)\"]+\.woff2)", sheet.body.decode())
        base = address.rpartition("/")[0]
        base = base.rpartition("/")[0] if "webfonts" in files[0] else base
        assert files
        assert all(web.answer(f"{base}/{file}") for file in files)


def test_the_default_set_takes_at_most_60_megabytes(web: FrozenWeb) -> None:
    folder = Settings.from_environment().web_dir
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 60_000_000


def test_an_unversioned_address_means_the_day_of_the_lock(web: FrozenWeb) -> None:
    babel = web.answer("https://unpkg.com/@babel/standalone/babel.min.js")
    react = web.answer("https://unpkg.com/react/umd/react.production.min.js")

    assert babel is not None
    assert b"7.28.5" in babel.body
    # React 19 has no such file any more; pages that ask for it mean the last one that had it.
    assert react is not None
    assert b'version="18.3.1"' in react.body
    assert react.note == "18.3.1 instead of 19.2.3"


def test_modules_of_a_page_share_one_react(web: FrozenWeb) -> None:
    if not web.modules:
        pytest.skip("modules were not built here: uiproof web get, with npm")
    entry = web.answer("https://esm.sh/react-dom@18.2.0/client?deps=react@18.2.0")
    assert entry is not None
    assert b'from "/react-dom@18.3.1/client"' in entry.body
    assert b"export { default } from" in entry.body
    react_dom = web.answer("https://esm.sh/react-dom@18.3.1")
    assert react_dom is not None
    assert b'"/react@18.3.1"' in react_dom.body
    chart = web.answer("https://cdn.jsdelivr.net/npm/recharts@2.15.4/+esm")
    assert chart is not None
    assert re.search(rb'"/npm/react@1\d\.\d+\.\d+/\+esm"', chart.body)
    bare = web.answer("https://esm.sh/recharts@2.15.4?external=react")
    assert bare is not None
    assert re.search(rb'from ?"react"', bare.body)


@given(
    st.one_of(
        st.text(),
        st.builds(
            "{}://{}{}".format,
            st.sampled_from(["https", "http", "HTTPS", "data"]),
            st.sampled_from(HOSTS.split()),
            st.text(alphabet="/@.%2ef5c?=&:,;|+~^*x019ar-_ωé\n\x00\ud800", max_size=60),
        ),
    )
)
def test_any_string_has_an_answer_or_none_and_no_other_file_is_read(
    tmp_path_factory: pytest.TempPathFactory, address: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / "small-set"
    store = Store(folder)
    digest = store.write(b"content")
    web = FrozenWeb(folder, lock=_lock({"a@1.0.0": {"0/a.js": digest}}))
    opened: list[str] = []
    store.read = lambda one: opened.append(one) or b"content"  # type: ignore[method-assign]
    web._store = store

    answer = web.answer(address)

    assert set(opened) <= {digest, ""}
    assert answer is None or answer.source in ("frozen", "placeholder")


# --- getting the set ----------------------------------------------------------------------------


class _Files(SimpleHTTPRequestHandler):
    """Serves a dictionary, and counts what was asked for."""

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(self.path)  # type: ignore[attr-defined]
        status, kind, body = server.content.get(self.path, (404, "text/plain", b"no"))  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("location" if 300 <= status < 400 else "content-type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Files) as one:
        one.content, one.asked = {}, []  # type: ignore[attr-defined]
        thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield one
        one.shutdown()
        thread.join()


def _address(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}/"


def test_a_set_from_a_cdn_is_checked_and_continued(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    good, bad = b"good", b"what the lock means"
    packages = {
        "a@1.0.0": {"a.js": hashlib.sha256(good).hexdigest()},
        "@s/b@2.0.0": {"b.js": hashlib.sha256(bad).hexdigest()},
    }
    lock, store = _lock(packages), Store(tmp_path)
    server.content["/a@1.0.0/a.js"] = 200, "text/javascript", good  # type: ignore[attr-defined]
    server.content["/@s/b@2.0.0/b.js"] = 200, "text/javascript", b"another"  # type: ignore[attr-defined]

    with pytest.raises(DownloadError, match="hash"):
        get(lock, store, cdn=_address(server))
    assert Store(tmp_path).read(packages["@s/b@2.0.0"]["b.js"]) is None
    server.content["/@s/b@2.0.0/b.js"] = 200, "text/javascript", bad  # type: ignore[attr-defined]
    get(lock, store, cdn=_address(server))
    server.asked.clear()  # type: ignore[attr-defined]
    seen: list[tuple[int, int]] = []
    get(lock, store, cdn=_address(server), progress=lambda *one: seen.append(one))

    assert server.asked == []  # type: ignore[attr-defined]
    assert seen == [(2, 2)]
    assert FrozenWeb(tmp_path, lock=lock).answer("https://unpkg.com/@s/b@2/b.js")


def test_npm_brings_packages_and_the_cdn_what_it_does_not(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tarball:
        member = tarfile.TarInfo("package/a.js")
        member.size = 4
        tarball.addfile(member, io.BytesIO(b"good"))
    (tmp_path / "a-1.0.0.tgz").write_bytes(made.getvalue())
    npm = tmp_path / "npm"  # packs what lies beside it, as the client does from its registry
    npm.write_text(
        f'#!/bin/sh\nmkdir "$npm_config_cache"; echo "$npm_config_cache" > {tmp_path}/cache\n'
        f'for last; do :; done\ncase "$last" in a@1.0.0) '
        f'cp {tmp_path}/a-1.0.0.tgz "$5";; *) exit 1;; esac\n'
    )
    npm.chmod(0o755)
    digest = hashlib.sha256(b"good").hexdigest()

    get(
        _lock({"a@1.0.0": {"a.js": digest}}), Store(tmp_path / "one"), npm=str(npm), cdn="http://x/"
    )
    assert Store(tmp_path / "one").read(digest) == b"good"
    assert not Path((tmp_path / "cache").read_text().strip()).exists()  # it does not pile up

    server.content["/b@1.0.0/b.js"] = 200, "text/javascript", b"good"  # type: ignore[attr-defined]
    lines: list[str] = []
    get(
        _lock({"b@1.0.0": {"b.js": digest}}),
        Store(tmp_path / "two"),
        npm=str(npm),
        cdn=_address(server),
        say=lines.append,
    )
    assert Store(tmp_path / "two").read(digest) == b"good"
    assert "CDN" in lines[0]


def test_a_file_that_was_changed_on_disk_has_no_answer(small: FrozenWeb, tmp_path: Path) -> None:
    before = small.digest
    for file in (tmp_path / "files").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes() + b"x" if file.stat().st_size > 30 else b"damaged")

    assert small.answer("https://unpkg.com/one@1.2.0/lib/one.js") is None
    next(one for one in (tmp_path / "files").rglob("*") if one.is_file()).unlink()
    assert FrozenWeb(tmp_path, lock=small._lock).digest != before


# --- fonts --------------------------------------------------------------------------------------


def test_a_font_sheet_has_the_asked_families_and_weights(web: FrozenWeb) -> None:
    answer = web.answer(
        "https://fonts.googleapis.com/css2?family=Inter:ital,wght@0,400;1,700"
        "&family=Roboto:wght@100..900&family=Lato&family=Noto+Sans+SC:wght@700"
        "&family=Unheard+Of&display=swap"
    )
    assert answer is not None
    sheet = answer.body.decode()
    faces = {
        tuple(re.search(rf"{key}: ([^;]+);", face)[1] for key in ("family", "style", "weight"))  # type: ignore[index]
        for face in sheet.split("@font-face")[1:]
    }
    assert faces == {
        ("'Inter'", "normal", "400"),
        ("'Inter'", "italic", "700"),
        ("'Roboto'", "normal", "100 900"),
        ("'Lato'", "normal", "400"),
        ("'Noto Sans SC'", "normal", "700"),
    }
    assert answer.note == "without Unheard Of"
    assert "local('Noto Sans CJK SC Bold')" in sheet
    assert sheet.count("font-display: swap") == sheet.count("@font-face")
    for file in re.findall(r"url\(([^)]+)\)", sheet):
        font = web.answer(file)
        assert font is not None
        assert font.body.startswith(b"wOF2")
        assert font.content_type == "font/woff2"


def test_the_older_font_api_and_icons(web: FrozenWeb) -> None:
    old = web.answer("https://fonts.googleapis.com/css?family=Open+Sans:300,700italic|Poppins:b")
    icons = web.answer(
        "https://fonts.googleapis.com/css2?family=Material+Symbols+Outlined:FILL@0..1"
    )

    assert old is not None
    assert old.body.count(b"font-weight: 700") == 4  # two subsets of two families
    assert b"font-style: italic" in old.body
    assert icons is not None
    assert b".material-symbols-outlined" in icons.body
    assert web.answer("https://fonts.googleapis.com/css2?family=Unheard+Of") is None
    assert web.answer("https://use.typekit.net/abc1234.css") is None


# --- pictures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "size"),
    [
        ("https://picsum.photos/200", (200, 200)),
        ("https://picsum.photos/200/300?random=1", (200, 300)),
        ("https://picsum.photos/id/237/200/300.jpg", (200, 300)),
        ("https://picsum.photos/seed/a/120/80", (120, 80)),
        ("https://placehold.co/600x400/000000/FFFFFF/png?text=Hello", (600, 400)),
        ("https://via.placeholder.com/150", (150, 150)),
        ("https://dummyimage.com/600x400/000/fff&text=x", (600, 400)),
        ("https://placekitten.com/g/200/300", (200, 300)),
        ("https://loremflickr.com/320/240/dog", (320, 240)),
        ("https://images.unsplash.com/photo-1?w=800&h=600", (800, 600)),
        ("https://images.unsplash.com/photo-1?w=900", (900, 600)),
        ("https://source.unsplash.com/random/800x600?x", (800, 600)),
        ("https://images.pexels.com/photos/1/a.jpeg?w=300", (300, 200)),
        ("https://i.pravatar.cc/64?img=3", (64, 64)),
        ("https://ui-avatars.com/api/?name=Ada+Lovelace&size=96", (96, 96)),
        ("https://randomuser.me/api/portraits/women/1.jpg", (128, 128)),
        ("https://robohash.org/x?size=50x50", (50, 50)),
        ("https://via.placeholder.com/150/00F/888?Text=A", (150, 150)),
        ("https://img.icons8.com/ios/50/000000/home.png", (50, 50)),
        ("https://flagcdn.com/w40/us.png", (40, 27)),
        ("https://image.tmdb.org/t/p/w500/a.jpg", (500, 750)),
        ("https://i.ytimg.com/vi/abc/maxresdefault.jpg", (1280, 720)),
        ("https://api.qrserver.com/v1/create-qr-code/?data=x&size=150x150", (150, 150)),
        ("https://picsum.photos/99999/99999", (2828, 2828)),
    ],
)
def test_a_placeholder_has_the_asked_size(
    tmp_path: Path, address: str, size: tuple[int, int]
) -> None:
    answer = FrozenWeb(tmp_path).answer(address)

    assert answer is not None
    assert answer.source == "placeholder"
    with Image.open(io.BytesIO(answer.body)) as picture:
        assert picture.size == size
    again = FrozenWeb(tmp_path).answer(address)
    assert again is not None
    assert again.body == answer.body


def test_seeds_colours_and_text_show(tmp_path: Path) -> None:
    web = FrozenWeb(tmp_path)

    def pixels(address: str) -> bytes:
        answer = web.answer(address)
        assert answer is not None
        with Image.open(io.BytesIO(answer.body)) as picture:
            return picture.convert("RGB").tobytes()

    assert pixels("https://picsum.photos/seed/a/40/30") != pixels(
        "https://picsum.photos/seed/b/40/30"
    )
    red = pixels("https://placehold.co/200x100/red/white?text=Hi")
    assert red[:3] == bytes((255, 0, 0))
    assert bytes((255, 255, 255)) in red
    assert red != pixels("https://placehold.co/200x100/red/white?text=Ho")


# --- archives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["archive", "archive.zip"])
def test_what_pages_load_is_recorded_once_and_replayed(
    server: ThreadingHTTPServer, tmp_path: Path, name: str
) -> None:
    base = _address(server)
    server.content |= {  # type: ignore[attr-defined]
        "/a.css": (200, "text/css", b"@import 'b.css'; body { background: url(c.png) }"),
        "/b.css": (302, "/moved.css", b""),
        "/moved.css": (200, "text/css", b"p { color: red }"),
        "/c.png": (200, "image/png", b"picture"),
        "/m.js": (200, "text/javascript", b"import './n.js'"),
        "/n.js": (200, "text/javascript", b"1"),
    }
    page = tmp_path / "page.html"
    page.write_text(
        f'<link rel=stylesheet href="{base}a.css"><script type=module>import "{base}m.js"</script>'
        f'<img srcset="{base}c.png 1x, {base}none.png 2x" src="https://picsum.photos/20">'
        '<a href="https://example.org/">a link is not loaded</a>'
    )
    out = tmp_path / name

    made = record([page], out, FrozenWeb(tmp_path), allow_private=True)
    web = FrozenWeb(tmp_path, archive=Archive.open(out))

    assert made.answered == 1  # the placeholder
    assert list(made.missing) == [f"{base}none.png"]
    assert {one.removeprefix(base) for one in web._archive.index.entries} == {  # type: ignore[union-attr]
        *("a.css", "b.css", "c.png", "m.js", "n.js"),
    }
    answer = web.answer(f"{base}b.css#x")
    assert answer is not None
    assert (answer.body, answer.content_type, answer.source) == (
        b"p { color: red }",
        "text/css",
        "archive",
    )
    assert web.digest != FrozenWeb(tmp_path).digest
    assert web.answer(f"{base}none.png") is None


def test_private_addresses_are_not_recorded_unless_allowed(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    local = _address(server).replace("http:", "https:")
    page.write_text(
        f'<img src="{local}c.png"><img src="https://[::1]/x.png"><img src="//localhost/y.png">'
    )

    made = record([page], tmp_path / "out", FrozenWeb(tmp_path))

    assert made.fetched == 0
    assert len(made.missing) == 3
    assert server.asked == []  # type: ignore[attr-defined]


def test_an_archive_that_is_damaged_or_climbs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(
        '{"version": 1, "date": "x", "entries": {"https://a/": 1}}'
    )
    with pytest.raises(InputError, match="archive"):
        Archive.open(tmp_path)
    with pytest.raises(InputError, match="archive"):
        FrozenWeb.installed(tmp_path / "none.zip")
    with pytest.raises(ValueError, match="sha256"):
        Entry(type="text/css", sha256="../../../etc/passwd")
    (tmp_path / "files").mkdir()
    digest = hashlib.sha256(b"right").hexdigest()
    (tmp_path / "files" / digest).write_bytes(b"wrong")
    index = Index(date="x", entries={"https://a.example/": Entry(type="text/css", sha256=digest)})
    (tmp_path / "index.json").write_text(index.model_dump_json())
    assert Archive.open(tmp_path).read("https://a.example/") is None


def test_the_command_shows_gets_and_records(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UIPROOF_WEB", str(tmp_path / "web"))
    server.content["/c.png"] = 200, "image/png", b"picture"  # type: ignore[attr-defined]
    page = tmp_path / "page.html"
    page.write_text(f'<img src="{_address(server)}c.png">')
    run = CliRunner().invoke

    shown = run(app, ["web"])
    assert "0 of" in shown.stdout
    assert "uiproof web get" in shown.stdout
    failed = run(app, ["web", "get", "--no-npm", "--cdn", _address(server), "-q"])
    assert isinstance(failed.exception, DownloadError)
    command = ["web", "record", str(page), "--out", str(tmp_path / "a.zip"), "--allow-private"]
    assert run(app, command, input="n\n").exit_code == 1
    assert not (tmp_path / "a.zip").exists()
    recorded = run(app, [*command, "--yes"])
    assert "1 files" in recorded.stdout
    assert Archive.open(tmp_path / "a.zip").read(f"{_address(server)}c.png")
