"""CLIP ViT-B/32 picture embeddings with onnxruntime.

The weights are the vision tower as an ONNX file, searched for at `UIPROOF_CLIP`, in uiproof's cache
and in the Hugging Face cache, in this order. Nothing is downloaded here.

    weights = find_weights()
    if weights is not None:
        clip = ClipModel(weights)
        clip_similarity(clip.embed(a), clip.embed(b))
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from uiproof.errors import InputError, needs_extra
from uiproof.geometry import Box
from uiproof.settings import Settings
from uiproof.vision.images import Rgb

_SAMPLE = 1 << 20
SIDE = 224
EMBEDDING = 512
RADIUS = 3  # of inpainting, as in Design2Code
# Channel means and standard deviations of CLIP's training data.
_MEAN = np.array((0.48145466, 0.4578275, 0.40821073), np.float32)
_STD = np.array((0.26862954, 0.26130258, 0.27577711), np.float32)

CACHE_FILE = "hub/clip-vit-b-32/model.onnx"  # where `uiproof data get` puts it
# Repositories of the Hugging Face hub that have the vision tower as ONNX, with the file.
HUB_FILES = (
    ("Qdrant/clip-ViT-B-32-vision", "model.onnx"),
    ("Xenova/clip-vit-base-patch32", "onnx/vision_model.onnx"),
)

Vector = npt.NDArray[np.float32]
_FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
_REMEDY = "Run `uiproof data get clip-vit-b-32`, or set UIPROOF_CLIP to an ONNX file of that model."


def find_weights(
    path: Path | None = None, *, environment: Mapping[str, str] | None = None
) -> Path | None:
    """Return the file with CLIP's weights, or None if there is none.

    A `path` given here or in `UIPROOF_CLIP` must exist (`InputError`); for a folder, it is the
    `model.onnx` inside.
    """
    environment = os.environ if environment is None else environment
    settings = Settings.from_environment(environment, clip=path)
    if settings.clip is not None:
        chosen = settings.clip / "model.onnx" if settings.clip.is_dir() else settings.clip
        if not chosen.is_file():
            raise InputError(f"There are no CLIP weights at {chosen}.", remedy=_REMEDY)
        return chosen
    candidates = [settings.cache_dir / CACHE_FILE, *_in_hub_cache(environment)]
    return next((file for file in candidates if file.is_file()), None)


def weights_digest() -> str:
    """Return a digest of samples of CLIP's weights, or `none`.

    Runs store it, so that scores with different weights are never mixed.
    """
    path = find_weights()
    if path is None:
        return "none"
    with path.open("rb") as file:
        head = file.read(_SAMPLE)
        file.seek(max(path.stat().st_size - _SAMPLE, 0))
        sample = head + file.read(_SAMPLE) + str(path.stat().st_size).encode()
    return hashlib.sha256(sample).hexdigest()[:16]


def _in_hub_cache(environment: Mapping[str, str]) -> Iterator[Path]:
    for repository, name in HUB_FILES:
        folder = _hub_cache(environment) / f"models--{repository.replace('/', '--')}"
        head = folder / "refs" / "main"
        if head.is_file():
            yield folder / "snapshots" / head.read_text().strip() / name
        yield from sorted(folder.glob(f"snapshots/*/{name}"))


def _hub_cache(environment: Mapping[str, str]) -> Path:
    for variable, below in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if environment.get(variable):
            return Path(environment[variable]).expanduser() / below
    return Path.home() / ".cache" / "huggingface" / "hub"


class ClipModel:
    """The vision tower of CLIP ViT-B/32, loaded from an ONNX file.

    Uses one thread by default, because there is a judge for every core. Raises `InputError` for a
    file that is not such a model.
    """

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise needs_extra("CLIP needs onnxruntime.", "clip") from error

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the runtime's errors have no common base
            raise InputError(f"{path} cannot be loaded as ONNX: {error}", remedy=_REMEDY) from error
        self._input = _picture_input(path, self._session.get_inputs())
        self._output = _embedding_output(path, self._session.get_outputs())
        self._path = path
        self._dtype = _FLOATS[self._input.type]
        self._one_at_a_time = self._input.shape[0] == 1

    def embed(self, rgb: Rgb) -> Vector:
        """Return the embedding of a picture: 512 numbers, normalized to length 1."""
        return np.asarray(self.embed_all([rgb])[0])

    def embed_all(self, pictures: Sequence[Rgb]) -> Vector:
        """Return the embeddings of several pictures, one per row."""
        if not pictures:
            return np.empty((0, EMBEDDING), np.float32)
        if self._one_at_a_time and len(pictures) > 1:
            return np.concatenate([self.embed_all([picture]) for picture in pictures])
        pixels = np.stack([preprocess(picture) for picture in pictures]).astype(self._dtype)
        (raw,) = self._session.run([self._output.name], {self._input.name: pixels})
        features = np.asarray(raw, dtype=np.float32)
        if features.shape != (len(pictures), EMBEDDING):
            raise _wrong_output(self._path, f"{self._output.name} {list(features.shape)}")
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        return np.asarray(features / lengths, dtype=np.float32)


def clip_similarity(a: Vector, b: Vector) -> float:
    """Return the cosine similarity of two embeddings, clamped to -1 to 1 against rounding."""
    return min(max(float(a @ b), -1.0), 1.0)


def preprocess(rgb: Rgb) -> Vector:
    """Return CLIP's input for a picture: 3 x 224 x 224 numbers.

    The short side is resized to 224 (bicubic, with Pillow's antialiasing), the centre is cropped,
    and each channel is normalized by CLIP's mean and standard deviation.
    """
    picture = Image.fromarray(np.ascontiguousarray(rgb))
    width, height = picture.size
    # The long side is rounded down, as in the preprocessing published with CLIP.
    size = (SIDE, SIDE * height // width) if width <= height else (SIDE * width // height, SIDE)
    if size != picture.size:
        picture = picture.resize(size, Image.Resampling.BICUBIC)
    left, top = round((size[0] - SIDE) / 2), round((size[1] - SIDE) / 2)
    square = np.asarray(picture.crop((left, top, left + SIDE, top + SIDE)), dtype=np.float32)
    scaled = (square / np.float32(255) - _MEAN) / _STD
    return np.ascontiguousarray(scaled.transpose(2, 0, 1), dtype=np.float32)


def inpainted_view(rgb: Rgb, boxes: Iterable[Box]) -> Rgb:
    """Return the picture that Design2Code gives to CLIP: without text, and squashed to a square.

    Text boxes are inpainted, then both sides are resized to the shorter one (Lanczos).
    """
    height, width = rgb.shape[:2]
    wordless = Image.fromarray(inpaint(rgb, box_mask(boxes, width, height)))
    side = min(width, height)
    return np.array(wordless.resize((side, side), Image.Resampling.LANCZOS), dtype=np.uint8)


def _picture_input(path: Path, inputs: Sequence[Any]) -> Any:
    if len(inputs) == 1 and inputs[0].type in _FLOATS and len(inputs[0].shape) == 4:
        batch, *picture = inputs[0].shape
        wanted = (3, SIDE, SIDE)
        # A symbolic dimension accepts any size; fixed ones must be those of this model.
        free_batch = batch == 1 or not isinstance(batch, int)
        fits = (
            not isinstance(n, int) or n == want for n, want in zip(picture, wanted, strict=True)
        )
        if free_batch and all(fits):
            return inputs[0]
    found = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
    raise InputError(
        f"{path} is not a vision tower of CLIP ViT-B/32: its input is {found or 'missing'}, not "
        f"a batch of 3 x {SIDE} x {SIDE} pictures.",
        remedy=_REMEDY,
    )


def _embedding_output(path: Path, outputs: Sequence[Any]) -> Any:
    fitting = [
        one
        for one in outputs
        if one.type in _FLOATS
        and len(one.shape) == 2
        and (one.shape[1] == EMBEDDING or not isinstance(one.shape[1], int))
    ]
    if fitting:
        return next((one for one in fitting if one.name == "image_embeds"), fitting[0])
    raise _wrong_output(path, ", ".join(f"{o.name} {o.type} {o.shape}" for o in outputs))


def _wrong_output(path: Path, found: str) -> InputError:
    return InputError(
        f"{path} is not a vision tower of CLIP ViT-B/32: its output is {found}, not {EMBEDDING} "
        "numbers per picture.",
        remedy=_REMEDY,
    )


def box_mask(boxes: Iterable[Box], width: int, height: int) -> npt.NDArray[np.uint8]:
    """Return a mask: 255 inside the boxes, 0 elsewhere.

    Left, top, width and height are each rounded down to whole pixels, as in Design2Code, so the
    masked area can be up to a pixel smaller than the box.
    """
    mask = np.zeros((height, width), np.uint8)
    for box in boxes:
        left, top = max(int(box.x * width), 0), max(int(box.y * height), 0)
        mask[top : top + int(box.h * height), left : left + int(box.w * width)] = 255
    return mask


def inpaint(rgb: Rgb, mask: npt.NDArray[np.uint8]) -> Rgb:
    """Inpaint the masked pixels (Telea 2004, radius 3).

    Takes about 0.9 seconds per million masked pixels. OpenCV's rounding lets flat areas drift by a
    few levels, which published scores include.
    """
    if not mask.any():
        return rgb
    filled = cv2.inpaint(np.ascontiguousarray(rgb), mask, RADIUS, cv2.INPAINT_TELEA)
    return np.asarray(filled, dtype=np.uint8)
