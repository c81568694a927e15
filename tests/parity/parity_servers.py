"""One pair of loopback servers that speak the wire formats of OmniParser and UI-TARS.

What they answer follows from the pixels of the picture alone, for UI-TARS also from the rest of the
request: whoever sends another crop, another prompt or other parameters gets another answer. `fault`
makes them misbehave in one of the ways of `FAULTS`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import random
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "grounding"))
from omniparser_server import boxes

FAULTS = {
    "500": "some pictures get HTTP 500, each time",
    "null": "`content` is null in one element of a list, or in the whole answer of UI-TARS",
    "floats": "UI-TARS writes its numbers as 812.0",
    "tokens": "UI-TARS writes `start_box='<|box_start|>(812,40)<|box_end|>'`",
    "pixels": "OmniParser gives its boxes in pixels",
}
INSTRUCTION = "## User Instruction\n"


class ServerPair:
    """with ServerPair(words, centres) as pair: pair.omniparser_url, pair.uitars_url."""

    def __init__(self, words=(), centres=None, fault=None):
        # Texts to be read, and where targets are, so that some answers are right.
        self.words, self.centres, self.fault = list(words), centres or {}, fault
        self.requests = Counter()
        self._known, self._lock = {}, threading.Lock()

    def __enter__(self):
        self._servers = [_serve(self.parse), _serve(self.chat)]
        self.omniparser_url, base = (
            f"http://127.0.0.1:{server.server_port}" for server in self._servers
        )
        self.uitars_url = f"{base}/v1"
        return self

    def __exit__(self, *_):
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def parse(self, body):
        self.requests["omniparser"] += 1
        picture = self._picture(body["base64_image"])
        if self._fails(picture, 3):
            return 500, {"detail": "Internal Server Error"}
        return 200, self._once(picture.digest, lambda: self._elements(picture))

    def chat(self, body):
        self.requests["uitars"] += 1
        ((message),) = body["messages"]
        texts = [part["text"] for part in message["content"] if part["type"] == "text"]
        (url,) = [part["image_url"]["url"] for part in message["content"] if "image_url" in part]
        picture = self._picture(url.removeprefix("data:image/png;base64,"))
        # Few enough, and crops only, for nobody to take it for an outage.
        if picture.width <= 300 and self._fails(picture, 16):
            return 500, {"error": {"message": "CUDA error"}}
        asked = [
            *(body["model"], float(body["temperature"]), body["max_tokens"]),
            *(message["role"], [part["type"] for part in message["content"]]),
            *(texts, picture.digest),
        ]
        said = self._place(picture, texts[0], _chance(json.dumps(asked)))
        choice = {"index": 0, "finish_reason": "stop"}
        answer = {"role": "assistant", "content": said}
        return 200, {
            **{"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]},
            "choices": [{**choice, "message": answer}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    def _fails(self, picture, one_of):
        return self.fault == "500" and int(picture.digest[:4], 16) % one_of == 0

    def _picture(self, encoded):
        return self._once(encoded, lambda: _Picture(base64.b64decode(encoded)))

    def _once(self, key, make):
        key = hashlib.sha256(key.encode()).digest()
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _elements(self, picture):
        """What stands out from the background, neither complete nor in quite the right places."""
        chance = _chance(picture.digest)
        items = []
        for left, top, right, bottom in boxes(picture.content):
            if chance.random() < 0.3:
                continue
            wide, high = right - left, bottom - top
            moved = [side + chance.uniform(-0.3, 0.3) * wide for side in (left, right)]
            moved += [side + chance.uniform(-0.3, 0.3) * high for side in (top, bottom)]
            if chance.random() < 0.8:
                moved = [min(max(side, 0.0), 1.0) for side in moved]
            box = [moved[0], moved[2], moved[1], moved[3]]
            items.append(self._item(box, self._text(chance)))
        items += [self._item(box, "Save") for box in ([], [0.5, 0.5, 0.5, 0.6], [0, 0, 1, 1])]
        if self.fault == "null" and chance.random() < 0.5:
            items[chance.randrange(len(items))]["content"] = None
        if self.fault == "pixels":
            for item in items:
                sides = zip(item["bbox"], (picture.width, picture.height) * 2, strict=False)
                item["bbox"] = [side * pixels for side, pixels in sides]
        return {"som_image_base64": "", "parsed_content_list": items, "latency": 0.1}

    def _item(self, box, text):
        source = "box_ocr_content_ocr"
        kinds = {"type": "text", "interactivity": False, "source": source}
        return {**kinds, "bbox": box, "content": text}

    def _text(self, chance):
        word = chance.choice(self.words)
        number = chance.randrange(40)
        return chance.choice(
            [
                *(word, word, word.upper(), f"  {word} ", f"{word} now", word[:3], "", " "),
                *(f"Text Box ID {number}: {word}", f"Icon Box ID {number}: {word}", "Text Box ID"),
            ]
        )

    def _place(self, picture, text, chance):
        """Where to click, in pixels of about the size that the model resizes to."""
        if self.fault == "null" and chance.random() < 0.3:
            return None
        kind = chance.random()
        x, y = chance.uniform(-0.1, 1.3), chance.uniform(-0.1, 1.3)
        target = self.centres.get(text.partition(INSTRUCTION)[2])
        if kind < 0.4 and target is not None:
            x, y = (side + chance.uniform(-0.03, 0.03) for side in target)
        elif kind < 0.8:
            x, y = chance.gauss(0.5, 0.12), chance.gauss(0.5, 0.12)
        elif kind < 0.9:
            return "Thought: There are 12 buttons and 3 links.\nAction: wait()"
        grown = max(1.0, math.sqrt(78_400 / (picture.width * picture.height)))
        x, y = max(round(x * picture.width * grown), 0), max(round(y * picture.height * grown), 0)
        if self.fault == "floats":
            return f"Action: click(point='<point>{x}.0 {y}.0</point>')"
        if self.fault == "tokens":
            return f"Action: click(start_box='<|box_start|>({x},{y})<|box_end|>')"
        return chance.choice(
            [
                f"Action: click(point='<point>{x} {y}</point>')",
                f"Thought: It is there.\nAction: click(point='<point>{x} {y}</point>')",
                f"Action: click(start_box='({x},{y})')",
                f'Action: click(start_box="({x}, {y})")',
            ]
        )


class _Picture:
    """A picture as its pixels, whoever has encoded them."""

    def __init__(self, content):
        self.content = content
        with Image.open(io.BytesIO(content)) as picture:
            pixels = picture.convert("RGB")
        self.width, self.height = pixels.size
        size = f"{self.width}x{self.height}".encode()
        self.digest = hashlib.sha256(size + pixels.tobytes()).hexdigest()


def _chance(text):
    return random.Random(hashlib.sha256(text.encode()).digest())


def _serve(answer):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.reply(200, {"message": "Omniparser API ready"})

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                self.reply(*answer(json.loads(body)))
            except OSError as error:  # no whole picture
                self.reply(400, {"detail": str(error)})

        def reply(self, status, content):
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
