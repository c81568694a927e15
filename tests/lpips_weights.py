"""Weights of chance for LPIPS: the same arrays in the same file format as the published ones."""

from __future__ import annotations

import pickle

import numpy as np

_SHAPES = ((11, 3, 64), (5, 64, 192), (3, 192, 384), (3, 384, 256), (3, 256, 256))


def alexnet_of_chance() -> bytes:
    rng = np.random.default_rng(0)
    layers = {
        f"Conv_{i}": {
            "kernel": rng.normal(0, 0.05, (side, side, *channels)).astype(np.float32),
            "bias": np.zeros(channels[1], np.float32),
        }
        for i, (side, *channels) in enumerate(_SHAPES)
    }
    linear = {
        f"NetLinLayer_{i}": {"Conv_0": {"kernel": np.ones((1, 1, shape[2], 1), np.float32)}}
        for i, shape in enumerate(_SHAPES)
    }
    return pickle.dumps({"AlexNet_0": layers, **linear})
