"""The scores of the `paper` profile on published pictures, held against recorded values.

`published_scores.json` was made by running the published formulas on the files themselves: gray by
`cv2.imread`, the second picture stretched by `cv2.resize`, `structural_similarity` of scikit-image,
parts cut out by Pillow, positions of the first red contour. The pictures of the interaction that
`generated` names stand for those of a generated page, whose element is at (101, 53). Each of the
ten pages is once the reference and once what was generated for another one.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from skimage.metrics import structural_similarity

from uiproof.benchmarks.interaction2code.graph import Graph, Interaction, read_graph
from uiproof.benchmarks.interaction2code.judging.acts import Act, PageState
from uiproof.benchmarks.interaction2code.judging.reference import Reference, load_reference
from uiproof.benchmarks.interaction2code.judging.scores import changed, full_scores, part_scores
from uiproof.benchmarks.interaction2code.judging.triggers import FoundTrigger
from uiproof.browser.snapshots import Action, Element, Snapshot
from uiproof.geometry import PixelBox
from uiproof.vision.images import decode, encode_png

RECORDED = json.loads(Path(__file__).with_name("published_scores.json").read_text())
BUTTON = Element(1, None, "button", "interact1", PixelBox(101, 53, 301, 93), "Go", "Go")


class Wordless:
    """A reader that finds no text: pictures are what is compared here."""

    def lines(self, rgb):
        return ()

    def lines_after(self, before, after):
        return ()


def seen(png):
    picture = decode(png)
    snapshot = Snapshot((BUTTON,), (picture.shape[1], picture.shape[0]), "")
    return PageState(png, picture, snapshot)


def acted(before, after):
    first = seen(before)
    return Act(first, first, FoundTrigger(BUTTON, "id"), None if after is None else seen(after))


@dataclass
class Scored:
    page: dict
    part: dict


def paper(reference: Reference, done: Act, *, embed=None, implemented=True) -> Scored:
    full = full_scores(reference, done, Wordless(), embed, [], implemented=implemented)
    part = part_scores(reference, done, changed(done, None), Wordless(), embed, [], contours=True)
    return Scored(full["paper"], part["paper"])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("120/4", "126/1") else pytest.mark.slow)
        for name in RECORDED
    ],
)
def test_scores_are_those_of_the_published_formulas(shared_data, name):
    folder = shared_data / "data" / "interaction2code"

    def interaction(name):
        page, _, number = name.partition("/")
        graph = read_graph(folder / page)
        return graph, graph.interaction(number)

    known = RECORDED[name]
    graph, other = interaction(known["generated"])
    done = acted(*(graph.screenshot(node).read_bytes() for node in (other.source, other.target)))
    scored = paper(load_reference(*interaction(name)), done)
    assert scored.page["ssim"] == pytest.approx(known["page_ssim"], abs=1e-9)
    assert scored.part["ssim"] == pytest.approx(known["part_ssim"], abs=1e-9)
    for side in ("position_before", "position_after"):
        assert scored.part[side] == pytest.approx(known[side], abs=1e-9)


def as_srgb(png):
    """The file with the chunk that screenshots of some systems carry."""
    body = b"sRGB\0"
    chunk = struct.pack(">I", 1) + body + struct.pack(">I", zlib.crc32(body))
    return png[:33] + chunk + png[33:]


def texture(width, height, seed):
    small = np.random.default_rng(seed).integers(0, 256, (height // 4, width // 4, 3), np.uint8)
    return np.ascontiguousarray(small.repeat(4, axis=0).repeat(4, axis=1))


@pytest.fixture
def dense(tmp_path):
    """An interaction whose pictures have two pixels for each CSS pixel and state their gamma."""
    before = texture(2400, 400, 0)
    after = before.copy()
    after[100:220, 600:1400] = texture(800, 120, 1)
    for name, picture in (("0", before), ("1", after), ("interaction_1", after[90:230, 590:1410])):
        (tmp_path / f"{name}.png").write_bytes(as_srgb(encode_png(picture)))
    interaction = Interaction("1", "0", "1", Action("click"), "click")
    return load_reference(Graph("dense", tmp_path, (interaction,)), interaction), tmp_path


def published_ssim(first, second):
    a, b = (cv2.imread(str(file), cv2.IMREAD_GRAYSCALE) for file in (first, second))
    return structural_similarity(a, cv2.resize(b, (a.shape[1], a.shape[0])))


@pytest.mark.parametrize("coloured", [encode_png, lambda one: as_srgb(encode_png(one))])
def test_pictures_are_compared_in_their_own_pixels_as_opencv_reads_them(dense, coloured):
    reference, folder = dense
    assert reference.scale == 2
    before = texture(1200, 260, 2)
    after = before.copy()
    after[60:110, 300:700] = texture(400, 52, 3)[:50]
    done = acted(coloured(before), coloured(after))
    (folder / "ours.png").write_bytes(coloured(after))
    Image.open(folder / "ours.png").crop((300, 60, 699, 109)).save(folder / "part.png")
    scored = paper(reference, done)
    page = published_ssim(folder / "1.png", folder / "ours.png")
    part = published_ssim(folder / "interaction_1.png", folder / "part.png")
    assert scored.page["ssim"] == pytest.approx(page, abs=1e-9)
    assert scored.part["ssim"] == pytest.approx(part, abs=1e-9)


def embed(picture):
    vector = np.zeros(512, np.float32)
    vector[:2] = (picture.shape[1], 1000)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("measured", [True, False])
def test_of_what_is_not_implemented_only_clip_of_the_page_is_measured(dense, measured):
    reference, _ = dense
    same = encode_png(texture(1200, 260, 2))
    given = embed if measured else None
    done = acted(same, same)
    for one, implemented in ((done, False), (done, True)):  # nothing is seen of it
        full = full_scores(reference, one, Wordless(), given, [], implemented=implemented)["paper"]
        assert (full["ssim"], full["text"]) == (0, 0)
        clip = float(embed(np.zeros((1, 2400))) @ embed(np.zeros((1, 1200))))
        assert full["clip"] == (pytest.approx(clip, abs=1e-6) if measured else None)
    nothing = full_scores(reference, acted(same, None), Wordless(), given, [], implemented=False)[
        "paper"
    ]
    assert nothing == {"clip": 0.0 if measured else None, "ssim": 0.0, "text": 0.0}


def test_without_a_change_the_part_has_no_clip_where_clip_is_not_measured(dense):
    reference, _ = dense
    same = encode_png(texture(1200, 260, 2))
    done = acted(same, same)
    part = part_scores(reference, done, changed(done, None), Wordless(), None, [])
    for profile in ("paper", "strict"):
        assert (part[profile]["clip"], part[profile]["ssim"]) == (None, 0.0)


def test_a_part_without_a_manual_crop_is_cut_out_in_published_pixels(dense):
    reference, folder = dense
    interaction = Interaction("1", "0", "1", Action("click"), "click")
    (folder / "interaction_1.png").unlink()
    ruled = load_reference(Graph("dense", folder, (interaction,)), interaction)
    assert decode(reference.part_file).shape[:2] == (140, 820)
    assert decode(ruled.part_file).shape[:2] == (119, 799)  # without the last row and column


def test_published_rules_do_not_see_transparency(tmp_path):
    solid = np.full((60, 90), 255, np.uint8)
    before = np.full((60, 90, 3), 255, np.uint8)
    after = before.copy()
    after[20:40, 30:60] = (255, 0, 0)
    faint = solid.copy()
    faint[20:40, 30:60] = 0  # on white, there would be no red
    for name, picture, alpha in (
        ("0", before, solid),
        ("1", after, faint),
        ("1_mark", after, faint),
    ):
        layers = Image.fromarray(np.dstack([picture, alpha]))
        layers.save(tmp_path / f"{name}.png")
    other = before.copy()
    other[5, 5] = 55
    transparent = np.dstack([other, solid])
    transparent[5, 5, 3] = 0
    Image.fromarray(transparent).save(tmp_path / "2.png")
    edges = (
        Interaction("1", "0", "1", Action("click"), "click"),
        Interaction("2", "2", "1", Action("click"), "click"),
    )
    graph = Graph("faint", tmp_path, edges)
    assert load_reference(graph, edges[0]).contours[1] == (45 / 90, 30 / 60)
    assert load_reference(graph, edges[1]).paper_box == PixelBox(5, 5, 59, 39)
