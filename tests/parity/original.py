"""Run inside an environment that has openadapt-grounding: its generator and its six methods.

python original.py generate '{"out": …, "count": …, "seed": …, "width": …, "height": …, "mix": …}'
python original.py evaluate '{"dataset": …, "methods": […], "omniparser": URL, "uitars": URL}'

`evaluate` prints JSON: for each method what its aggregation gives, with the place of every click,
or what it crashed with.
"""

import hashlib
import json
import sys
from pathlib import Path

from openadapt_grounding.eval.cli import EvalCLI
from openadapt_grounding.eval.dataset.schema import Dataset
from openadapt_grounding.eval.dataset.synthetic import SyntheticGenerator
from openadapt_grounding.eval.metrics.compute import aggregate_metrics


def encode_once(client):
    """Remember what the client's own encoder makes of a picture: it is asked for each element."""
    encode, known = client._image_to_base64, {}

    def remembered(image):
        key = hashlib.sha256(image.tobytes() + repr((image.mode, image.size)).encode()).digest()
        if key not in known:
            known[key] = encode(image)
        return known[key]

    client._image_to_base64 = remembered


class Watched:
    """A method of the original that remembers where it clicked."""

    def __init__(self, method):
        self.method, self.clicks = method, []
        encode_once(method.client)

    def evaluate_element(self, image, target):
        found = self.method.evaluate_element(image, target)
        self.clicks.append(found.click_point)
        return found


def generate(out, count, seed, width, height, mix=None):
    shares = {tuple(name.split("-")): share for name, share in mix.items()} if mix else None
    generator = SyntheticGenerator(width, height, seed)
    generator.generate_dataset(Path(out), count, shares)


def evaluate(dataset, methods, omniparser, uitars):
    cli, folder = EvalCLI(), Path(dataset)
    found = {}
    for name in methods:
        method = Watched(cli._create_method(name, omniparser, uitars))
        try:
            loaded = Dataset.load(folder / "annotations.json")
            results = cli._run_evaluation(method, loaded, folder)
        except Exception as error:  # noqa: BLE001 - what the original crashes with is the result
            found[name] = {"crash": repr(error)}
            continue
        metrics = aggregate_metrics(results, method.method.name, folder.name)
        found[name] = {**metrics.to_dict(), "clicks": method.clicks}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    {"generate": generate, "evaluate": evaluate}[sys.argv[1]](**json.loads(sys.argv[2]))
