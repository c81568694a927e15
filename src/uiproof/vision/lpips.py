"""LPIPS, a perceptual distance of two pictures (Zhang et al. 2018), without torch.

The weights are those of the published metric, version 0.1, from `uiproof data get lpips-alexnet`. 0
means equal; most pairs of pages are below 0.8. It is a distance, unlike the CLIP similarity of
Design2Code.

    weights = find_weights()
    if weights is not None:
        LpipsModel(weights).page_distance(a, b)
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from uiproof.errors import InputError
from uiproof.settings import Settings
from uiproof.vision.images import Rgb

Features = npt.NDArray[np.float32]  # height, width, channels

_FOLDER = "hub/lpips-alexnet"  # where `uiproof data get` puts the weights
_REMEDY = "Run `uiproof data get lpips-alexnet`."
# Normalization of inputs in -1 to 1 before the first layer.
_SHIFT = np.array((-0.030, -0.088, -0.188), np.float32)
_SCALE = np.array((0.458, 0.448, 0.450), np.float32)
_EPSILON = 1e-10
_PAGE_WIDTH = 512  # pixels to which pages are scaled, as in MRWeb

# Stride, padding and preceding pooling of each layer; layers whose features are compared.
_ALEXNET = ((4, 2, 0), (1, 2, 3), (1, 1, 3), (1, 1, 0), (1, 1, 0))
_VGG16 = tuple((1, 1, 2 if layer in (2, 4, 7, 10) else 0) for layer in range(13))
_NETWORKS = {
    "AlexNet_0": (_ALEXNET, (0, 1, 2, 3, 4)),
    "VGG16_0": (_VGG16, (1, 3, 6, 9, 12)),
}


def find_weights(network: str = "alexnet") -> Path | None:
    """Return the file with the weights of `alexnet` or `vgg16`; None if it was not downloaded."""
    path = Settings.from_environment().cache_dir / _FOLDER / f"{network}.ckpt"
    return path if path.is_file() else None


class LpipsModel:
    """AlexNet or VGG16 with the linear layers of LPIPS, loaded from a file of arrays."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                content = _ArraysOnly(file).load()
            name = next(name for name in _NETWORKS if name in content)
            self._layers, self._compared = _NETWORKS[name]
            layers = [content[name][f"Conv_{i}"] for i in range(len(self._layers))]
            self._weights = [(_array(one["kernel"], 4), _array(one["bias"], 1)) for one in layers]
            linear = [content[f"NetLinLayer_{i}"] for i in range(len(self._compared))]
            self._linear = [_array(one["Conv_0"]["kernel"], 4).reshape(-1) for one in linear]
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError,
                StopIteration, pickle.UnpicklingError) as error:  # fmt: skip
            raise InputError(f"{path} has no weights of LPIPS: {error}.", remedy=_REMEDY) from error

    def distance(self, a: Rgb, b: Rgb) -> float:
        """Return the distance of two pictures of one size."""
        if a.shape != b.shape:
            raise ValueError(f"pictures of {a.shape} and {b.shape} cannot be compared")
        first, second = (one.astype(np.float32) / np.float32(127.5) - 1 for one in (a, b))
        return self.raw_distance(first, second)

    def page_distance(self, a: Rgb, b: Rgb) -> float:
        """Return the distance of two pages at a width of 512 pixels, the shorter one on white."""
        first, second = scaled_page(a), scaled_page(b)
        height = max(len(first), len(second))
        return self.distance(*(_on_white(one, height) for one in (first, second)))

    def raw_distance(self, a: Features, b: Features) -> float:
        """Return the distance of two arrays, whose values should be in -1 to 1."""
        total = 0.0
        pairs = zip(self._features(a), self._features(b), self._linear, strict=True)
        for first, second, weights in pairs:
            squares = (_unit(first) - _unit(second)) ** 2
            total += float((squares @ weights).mean())
        return total

    def _features(self, picture: Features) -> list[Features]:
        values = ((picture - _SHIFT) / _SCALE).astype(np.float32)
        found = []
        for layer, (stride, padding, pool) in enumerate(self._layers):
            if pool:
                values = _max_pool(values, pool)
            values = np.maximum(_convolve(values, *self._weights[layer], stride, padding), 0)
            if layer in self._compared:
                found.append(values)
        return found


def scaled_page(rgb: Rgb) -> Rgb:
    """Return a page scaled to a width of 512 pixels (Lanczos), the size for `distance`."""
    height = max(1, int(rgb.shape[0] * _PAGE_WIDTH / rgb.shape[1]))
    picture = Image.fromarray(rgb).resize((_PAGE_WIDTH, height), Image.Resampling.LANCZOS)
    return np.asarray(picture, dtype=np.uint8)


def _on_white(page: Rgb, height: int) -> Rgb:
    return np.pad(page, ((0, height - len(page)), (0, 0), (0, 0)), constant_values=255)


class _ArraysOnly(pickle.Unpickler):
    """Unpickle arrays only, because other pickles can run code."""

    _ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype"})

    def find_class(self, module: str, name: str) -> Any:
        """Return the functions that arrays need; refuse all others."""
        if module.split(".")[0] != "numpy" or name not in self._ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not an array")
        if name == "_reconstruct":  # its module has moved in numpy 2
            return np.empty(0).__reduce__()[0]
        return getattr(np, name)


def _array(value: Any, dimensions: int) -> Features:
    array = np.asarray(value, dtype=np.float32)
    if array.ndim != dimensions:
        raise ValueError(f"an array of {dimensions} dimensions was expected")
    return array


def _unit(features: Features) -> Features:
    length = np.sqrt((features**2).sum(axis=2, keepdims=True))
    return np.asarray(features / (length + _EPSILON), dtype=np.float32)


def _max_pool(values: Features, size: int) -> Features:
    """Return the maxima of windows inside the array, with a stride of 2."""
    height, width = ((side - size) // 2 + 1 for side in values.shape[:2])
    pooled = values[: 2 * height : 2, : 2 * width : 2]
    for down in range(size):
        for across in range(size):
            part = values[down : down + 2 * height - 1 : 2, across : across + 2 * width - 1 : 2]
            pooled = np.maximum(pooled, part)
    return pooled


def _convolve(
    values: Features, kernel: Features, bias: Features, stride: int, padding: int
) -> Features:
    """Return a convolution: for each position in the kernel, a matrix product of all pixels."""
    size = kernel.shape[0]
    padded = np.pad(values, ((padding, padding), (padding, padding), (0, 0)))
    height, width = ((side - size) // stride + 1 for side in padded.shape[:2])
    total = np.tile(bias, (height * width, 1))
    for down in range(size):
        for across in range(size):
            part = padded[down::stride, across::stride][:height, :width]
            total += part.reshape(height * width, -1) @ kernel[down, across]
    return total.reshape(height, width, -1)
