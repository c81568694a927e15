"""A small hub on loopback: the parts of its HTTP interface that uiproof uses, and its accidents."""

import hashlib
import json
import re
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the server holds, how it misbehaves, and what it was asked for."""

    url: str = ""
    repos: dict[str, dict[str, bytes]] = field(default_factory=dict)  # "datasets/a/b" -> files
    large: set[str] = field(default_factory=set)  # names that git LFS holds
    sends: dict[str, bytes] = field(default_factory=dict)  # name -> other bytes than announced
    cut_after: dict[str, list[int]] = field(default_factory=dict)  # name -> bytes, per request
    refuses_ranges: bool = False
    newest: str = COMMIT  # the commit of `main`
    answers_with: str = ""  # a commit, whichever was asked for
    asked: Counter = field(default_factory=Counter)
    ranges: list[str] = field(default_factory=list)
    commits: set[str] = field(default_factory=set)  # from which files were asked for

    def listing(self, repo, revision):
        commit = revision if re.fullmatch(r"[0-9a-f]{40}", revision) else self.newest
        files = [self._file(name, content) for name, content in self.repos[repo].items()]
        return {"sha": self.answers_with or commit, "siblings": files}

    def _file(self, name, content):
        blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
        file = {"rfilename": name, "size": len(content), "blobId": blob}
        if name in self.large:
            sha256 = hashlib.sha256(content).hexdigest()
            file["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 130}
        return file


@contextmanager
def serve():
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            path = unquote(urlsplit(self.path).path)
            if match := re.fullmatch(r"/api/(datasets|models)/([^/]+/[^/]+)/revision/(.+)", path):
                kind, repo, revision = match.groups()
                key = f"datasets/{repo}" if kind == "datasets" else repo
                if key in hub.repos:
                    return self._answer(200, json.dumps(hub.listing(key, revision)).encode())
                return self._answer(404, b"{}")
            for key, files in hub.repos.items():
                match = re.fullmatch(rf"/{key}/resolve/([0-9a-f]{{40}})/(.+)", path)
                if match and (name := match[2]) in files:
                    hub.commits.add(match[1])
                    return self._send_file(name, hub.sends.get(name, files[name]))
            return self._answer(404, b"")

        def _send_file(self, name, content):
            hub.asked[name] += 1
            start, status = 0, 200
            wanted = self.headers.get("Range")
            if wanted:
                hub.ranges.append(f"{name} {wanted}")
                if not hub.refuses_ranges:
                    start, status = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]), 206
            body = content[start:]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cuts = hub.cut_after.get(name)
            self.wfile.write(body[: cuts.pop(0)] if cuts else body)
            self.close_connection = True

        def _answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
