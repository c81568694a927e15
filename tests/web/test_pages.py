"""Modern pages are rendered deterministically from frozen copies, and requests are logged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import uiproof
from uiproof.browser import Limits, PageSource, Renderer
from uiproof.cli.results import exit_for
from uiproof.registry import resolve_dataset
from uiproof.web import FrozenWeb

STYLE = b"body { background: rgb(0, 128, 0) }"
ADDRESS = "https://styles.example.org/theme.css"
LINK = f'<link rel="stylesheet" href="{ADDRESS}">'
PAGE = "<!DOCTYPE html><html><head>{}</head><body><h1>Harbour</h1></body></html>"
GREEN = (0, 128, 0)


@pytest.fixture(scope="module")
def web() -> FrozenWeb:
    found = FrozenWeb.installed()
    if found.answer("https://cdn.tailwindcss.com/") is None:
        pytest.skip("needs the frozen web: run `uiproof web get`")
    return found


@pytest.fixture(scope="module")
def two_browsers(web: FrozenWeb) -> Iterator[tuple[Renderer, Renderer]]:
    with Renderer(web=web) as one, Renderer(web=web) as two:
        yield one, two


def write_archive(folder: Path) -> None:
    digest = hashlib.sha256(STYLE).hexdigest()
    (folder / "files").mkdir(parents=True)
    (folder / "files" / digest).write_bytes(STYLE)
    entry = {"type": "text/css", "sha256": digest}
    index = {"version": 1, "date": "2026-01-01", "entries": {ADDRESS: entry}}
    (folder / "index.json").write_text(json.dumps(index))


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Path, Path]:
    """A page that needs a style sheet of another host, and one that does not, on both sides."""
    for side in ("reference", "generated"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "1.html").write_text(PAGE.format(LINK))
        (tmp_path / side / "2.html").write_text(PAGE.format(""))
    return tmp_path / "reference", tmp_path / "generated"


def test_a_run_without_a_copy_says_which_pages_lack_what(
    pages: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = uiproof.score("design2code", *pages, workers=1, quiet=True)
    first, second = sorted(run.records(), key=lambda record: record.id)
    assert {"generated:incomplete", "reference:incomplete"} <= set(first.flags)
    assert first.details["web"]["generated"] == {"missing": [["style", ADDRESS]]}
    assert "web" not in second.details
    assert not second.flags
    assert run.summary["incomplete_pages"] == 1
    assert run.summary["complete_pages"]["n"] == 1
    assert run.summary["complete_pages"]["paper.text"] == 1.0
    exit_for([run], quiet=False)
    told = capsys.readouterr().err
    for text in (ADDRESS, "uiproof web get", "uiproof web record", "2 pages lack a style sheet"):
        assert text in told
    report = pages[0].parent / "report.html"
    uiproof.write_report([run], report)
    assert ADDRESS in report.read_text()


def test_system_ui_is_the_interface_font_of_the_frozen_web(web: FrozenWeb) -> None:
    fonts = ("system-ui", "Selawik", "Arial")
    spans = "".join(f"<b style='font:40px {font}'>The quick brown fox</b>" for font in fonts)
    widths = "[...document.querySelectorAll('b')].map((e) => e.getBoundingClientRect().width)"
    with Renderer(web=web) as renderer, renderer.open(PageSource.from_html(spans)) as page:
        system, selawik, arial = page.evaluate(widths)
    assert system == selawik != arial


def test_an_archive_answers_and_is_a_part_of_the_fingerprint(
    pages: tuple[Path, Path], tmp_path: Path
) -> None:
    def scored(**chosen: Path) -> uiproof.RunDirectory:
        return uiproof.score("design2code", *pages, workers=1, quiet=True, **chosen)

    without = scored()
    write_archive(tmp_path / "archive")
    runs = [scored(web=tmp_path / "archive")]
    write_archive(pages[0] / "web")  # beside the data set
    runs.append(scored())
    for run in runs:
        first, _ = sorted(run.records(), key=lambda record: record.id)
        assert not first.flags
        assert first.details["web"]["generated"] == {"archive": [["style", ADDRESS]]}
        assert "incomplete_pages" not in run.summary
        assert run.manifest["fingerprint"]["web"] != without.manifest["fingerprint"]["web"]
        with Image.open(run.artifact(first.artifacts["generated"])) as picture:
            assert picture.convert("RGB").getpixel((600, 600)) == GREEN


def test_grounding_has_no_pages_to_give_an_archive_to(tmp_path: Path) -> None:
    with pytest.raises(uiproof.UiproofError, match="shows no pages"):
        uiproof.run("grounding-demo", "centre", out=tmp_path / "run", web=tmp_path)


@pytest.mark.parametrize("name", ["tailwind", "react", "bootstrap", "fonts"])
def test_the_bundled_pages_of_today_are_whole_and_always_the_same(
    two_browsers: tuple[Renderer, Renderer], name: str
) -> None:
    _, reference = resolve_dataset("design2code-today")
    for side in (reference, reference.parent / "generated"):
        pictures = set()
        for renderer in two_browsers:
            with renderer.open(PageSource.from_file(side / f"{name}.html")) as page:
                pictures.add(page.screenshot())
                assert not page.flags
                assert not {"missing", "refused"} & page.web.as_json().keys()
        (picture,) = pictures
        assert not is_blank(picture)


IONIC = """<script type="module" src="https://cdn.jsdelivr.net/npm/@ionic/core/dist/ionic/ionic.esm.js">
</script><link rel="stylesheet" href="https://cdn.jsdelivr.net/npm/@ionic/core/css/ionic.bundle.css">
<ion-app><ion-content><ion-button>Buy</ion-button><ion-icon name="home"></ion-icon></ion-content>
</ion-app><script type="module">import ionicons from 'https://cdn.jsdelivr.net/npm/ionicons/+esm'</script>"""
VUE = """<script src="https://registry.npmmirror.com/vue/3.3.11/files/dist/vue.global.js"></script>
<h1 id="app" style="font-size: 200px">{{ text }}</h1>
<script>Vue.createApp({ data: () => ({ text: "Buy" }) }).mount("#app")
</script>"""
WEBGL = """<script type="importmap">{"imports": {
"three": "https://unpkg.com/three@0.160.0/build/three.module.js",
"three/addons/": "https://unpkg.com/three@0.160.0/examples/jsm/"}}</script><h1>Buy</h1>
<script type="module">import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
const scene = new THREE.Scene(), camera = new THREE.PerspectiveCamera(75, 2, 0.1, 100);
const renderer = new THREE.WebGLRenderer(); renderer.setSize(400, 200);
document.body.append(renderer.domElement); new OrbitControls(camera, renderer.domElement);
const box = new THREE.Mesh(new THREE.BoxGeometry(), new THREE.MeshNormalMaterial());
scene.add(box); camera.position.z = 2;
(function draw() { requestAnimationFrame(draw); box.rotation.y += 0.02;
renderer.render(scene, camera); })();
</script>"""


@pytest.mark.parametrize("page", [IONIC, VUE, WEBGL], ids=["ionic", "vue mirror", "three.js"])
def test_stacks_of_tools_are_whole_and_always_the_same(
    web: FrozenWeb, two_browsers: tuple[Renderer, Renderer], page: str
) -> None:
    if "+esm" in page and not web.modules:
        pytest.skip("modules were not built here: uiproof web get, with npm")
    pictures = set()
    for renderer in two_browsers:
        with renderer.open(PageSource.from_html(f"<!DOCTYPE html>{page}")) as shown:
            pictures.add(shown.screenshot())
            assert not shown.flags
            assert "missing" not in shown.web.as_json()
            assert "buy" in shown.evaluate("document.body.innerText").lower()
    (picture,) = pictures
    assert not is_blank(picture)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gpt4o", "gemini_2.5_pro", "claude3.7"])
def test_pages_of_models_are_alive_where_their_authors_saw_them_alive(
    web: FrozenWeb, shared_data: Path, model: str
) -> None:
    """And where they are alive, their text is found; where not, an error says why."""
    folder = shared_data / "data" / "webvia" / "generated" / model
    pages = sorted(folder.glob("*.html"))
    assert pages
    alike = 0
    with Renderer(Limits(load_seconds=120), web=web) as renderer:  # whatever else the machine does
        for path in pages:
            with renderer.open(PageSource.from_file(path)) as page:
                ours = is_blank(page.screenshot())
                text = "".join(page.evaluate("document.body.innerText").split())
            alike += ours == is_blank(path.with_suffix(".start.png").read_bytes())
            assert ours or len(text) > 15, path
    assert alike / len(pages) >= 0.95


def is_blank(picture: bytes) -> bool:
    pixels = np.asarray(Image.open(BytesIO(picture)).convert("RGB"))
    return bool((pixels == pixels[0, 0]).all(axis=2).mean() > 0.999)
