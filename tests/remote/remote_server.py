"""A real S3 server on this machine, buckets in it, and what tests ask of them."""

from __future__ import annotations

import functools
import http.server
import json
import logging
import re
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import boto3


class Server(logging.Handler):
    """The server, and what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._port = 0
        self.start()
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        from moto.server import ThreadedMotoServer  # takes long to import

        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self._port, verbose=False)
        self._server.start()
        self._port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        self._server.stop()

    @contextmanager
    def down(self):
        self.stop()
        try:
            yield
        finally:
            self.start()

    def emit(self, record) -> None:
        self.asked += re.findall(r'"([A-Z]+ /\S*)', record.getMessage())


class Bucket:
    """Objects by their keys."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.name = f"bucket-{uuid4().hex[:12]}"
        self.url = f"s3://{self.name}"
        self.client = boto3.client(
            "s3",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        self.client.create_bucket(Bucket=self.name)

    def put(self, key: str, content: str | bytes) -> None:
        body = content.encode() if isinstance(content, str) else content
        self.client.put_object(Bucket=self.name, Key=key, Body=body)

    def put_folder(self, folder: Path, prefix: str) -> None:
        for path in folder.rglob("*"):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def delete(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)

    def keys(self, prefix: str = "") -> list[str]:
        found = self.client.list_objects_v2(Bucket=self.name, Prefix=prefix)
        return [one["Key"] for one in found.get("Contents", [])]

    def __contains__(self, key: str) -> bool:
        return key in self.keys(key)

    def gets(self) -> list[str]:
        """The objects that were read since the last time this was asked."""
        start = f"GET /{self.name}/"
        found = [one.removeprefix(start) for one in self.server.asked if one.startswith(start)]
        self.server.asked.clear()
        return sorted(found)


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address) -> None:
        pass  # clients that gave up hang up


@contextmanager
def serving(handler, **options):
    """A web server on this machine; gives its address."""
    make = functools.partial(handler, **options)
    with QuietServer(("127.0.0.1", 0), make) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def journal_ids(content: bytes) -> list[str]:
    return [json.loads(line)["id"] for line in content.splitlines()]


def wait_until(holds, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)
