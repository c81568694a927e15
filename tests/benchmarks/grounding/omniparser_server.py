"""A real HTTP server that speaks OmniParser's format and has its quirks.

It finds boxes in the picture that it gets (anything that is not background), works on one request
at a time, and answers 500 where there is nothing to read, as the real one does.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import cv2
import numpy as np
from PIL import Image


class OmniParserServer:
    """with OmniParserServer(latency=0.05) as server: server.url, server.parsed.

    `mischief(number, items)` is given the number of the request and the elements, and returns
    other elements, or an HTTP status to fail with.
    """

    def __init__(self, latency=0.0, broken=False, mischief=None):
        self.latency, self.broken, self.mischief = latency, broken, mischief
        self.requests = 0
        self.parsed = Counter()  # pictures by digest that were answered well
        self.failed = Counter()
        self._one_at_a_time = threading.Lock()

    def __enter__(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.reply(200, {"message": "Omniparser API ready"})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path != "/parse/":
                    self.reply(404, {"detail": "Not Found"})
                    return
                status, content = server.parse(base64.b64decode(body["base64_image"]))
                self.reply(status, content)

            def reply(self, status, content):
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()

    def parse(self, content):
        digest = hashlib.sha256(content).hexdigest()
        with self._one_at_a_time:
            number, self.requests = self.requests, self.requests + 1
            time.sleep(self.latency)
            found = [] if self.broken else boxes(content)
        if not found:
            self.failed[digest] += 1
            return 500, {"detail": "Internal Server Error"}
        items = [
            {
                "type": "icon",
                "bbox": box,
                "interactivity": True,
                "content": None,
                "source": "box_yolo_content_yolo",
            }
            for box in found
        ]
        if self.mischief is not None:
            items = self.mischief(number, items)
        if isinstance(items, int):
            self.failed[digest] += 1
            return items, {"detail": "no luck"}
        self.parsed[digest] += 1
        return 200, {"som_image_base64": "", "parsed_content_list": items, "latency": self.latency}


def boxes(content):
    """What stands out from the background, as corners in 0-1."""
    with Image.open(io.BytesIO(content)) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(np.int16)
    height, width = pixels.shape[:2]
    wide = pixels.astype(np.int32)
    packed = wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2]
    values, counts = np.unique(packed[::4, ::4], return_counts=True)
    common = int(values[counts.argmax()])
    background = np.array([common >> 16, common >> 8 & 255, common & 255])
    mask = (np.abs(pixels - background).sum(2) > 12).astype(np.uint8)
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((3, 11), np.uint8))
    _, _, found, _ = cv2.connectedComponentsWithStats(mask)
    return [
        [x / width, y / height, (x + w) / width, (y + h) / height]
        for x, y, w, h, _ in found[1:].tolist()
    ]
