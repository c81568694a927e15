"""A network as large as the vision tower of CLIP ViT-B/32, with random weights.

It costs what CLIP costs and knows nothing: for measuring where the weights cannot be had. Scores
that it gives mean nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, LAYERS, PATCH, SIDE, EMBEDDING = 768, 12, 12, 32, 224, 512
TOKENS = (SIDE // PATCH) ** 2 + 1
_OPSET = 17


def write_stand_in(path: Path) -> Path:
    """Write the network as ONNX, about 350 MB, and return its path."""
    graph = _Graph()
    x = graph.add(
        "Conv", ["pixel_values", graph.weight((WIDTH, 3, PATCH, PATCH))], strides=[PATCH] * 2
    )
    x = graph.add("Reshape", [x, graph.constant([1, WIDTH, TOKENS - 1])])
    x = graph.add("Transpose", [x], perm=[0, 2, 1])
    x = graph.add("Concat", [graph.weight((1, 1, WIDTH)), x], axis=1)
    x = graph.add("Add", [x, graph.weight((1, TOKENS, WIDTH))])
    x = graph.normed(x)
    for _ in range(LAYERS):
        x = graph.add("Add", [x, _attention(graph, graph.normed(x))])
        x = graph.add("Add", [x, _perceptron(graph, graph.normed(x))])
    x = graph.add("Slice", [x, graph.constant([0]), graph.constant([1]), graph.constant([1])])
    x = graph.add("Reshape", [graph.normed(x), graph.constant([1, WIDTH])])
    graph.add("MatMul", [x, graph.weight((WIDTH, EMBEDDING))], name="image_embeds")
    shapes = (("pixel_values", [1, 3, SIDE, SIDE]), ("image_embeds", [1, EMBEDDING]))
    given, made = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes
    )
    model = helper.make_model(
        helper.make_graph(graph.nodes, "stand-in", [given], [made], graph.values),
        opset_imports=[helper.make_opsetid("", _OPSET)],
    )
    model.ir_version = 9
    onnx.save(model, path)
    return path


class _Graph:
    """Nodes and numbers of a network while it is put together."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.values: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(1)

    def add(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: object) -> str:
        """Add a node; returns the name of what it gives."""
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, shape: tuple[int, ...]) -> str:
        """Random numbers of a shape."""
        numbers = self._random.standard_normal(shape, dtype=np.float32) * np.float32(0.02)
        return self._keep(numbers)

    def constant(self, numbers: Sequence[int]) -> str:
        """Whole numbers, such as a shape."""
        return self._keep(np.array(numbers, dtype=np.int64))

    def scalar(self, number: float) -> str:
        """One number."""
        return self._keep(np.array(number, dtype=np.float32))

    def normed(self, x: str) -> str:
        """Layer normalisation."""
        ones, zeros = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
        return self.add("LayerNormalization", [x, self._keep(ones), self._keep(zeros)])

    def linear(self, x: str, inward: int, outward: int) -> str:
        """A product with weights, and a bias."""
        product = self.add("MatMul", [x, self.weight((inward, outward))])
        return self.add("Add", [product, self.weight((outward,))])

    def _keep(self, numbers: np.ndarray) -> str:
        name = f"w{len(self.values)}"
        self.values.append(numpy_helper.from_array(numbers, name))
        return name


def _attention(graph: _Graph, x: str) -> str:
    size = WIDTH // HEADS
    shape = graph.constant([1, TOKENS, HEADS, size])

    def heads(perm: list[int]) -> str:
        part = graph.add("Reshape", [graph.linear(x, WIDTH, WIDTH), shape])
        return graph.add("Transpose", [part], perm=perm)

    scores = graph.add("MatMul", [heads([0, 2, 1, 3]), heads([0, 2, 3, 1])])
    scores = graph.add("Mul", [scores, graph.scalar(size**-0.5)])
    seen = graph.add("MatMul", [graph.add("Softmax", [scores], axis=-1), heads([0, 2, 1, 3])])
    joined = graph.add("Transpose", [seen], perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", [joined, graph.constant([1, TOKENS, WIDTH])])
    return graph.linear(joined, WIDTH, WIDTH)


def _perceptron(graph: _Graph, x: str) -> str:
    inner = graph.linear(x, WIDTH, 4 * WIDTH)
    gate = graph.add("Sigmoid", [graph.add("Mul", [inner, graph.scalar(1.702)])])
    return graph.linear(graph.add("Mul", [inner, gate]), 4 * WIDTH, WIDTH)
