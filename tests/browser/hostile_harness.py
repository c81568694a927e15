"""The harness of the hostile corpus: traps, secrets and witnesses."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CORPUS = Path(__file__).resolve().parents[1] / "pages" / "hostile"
MARK_COLOUR = (0, 200, 83)  # the block with id "mark" on the pages
SECRET_COLOUR = (255, 0, 255)  # what every secret file paints
SECRET_WORD = "outsidethefolder"

_PIXEL = f"rgb{SECRET_COLOUR}"
_SECRETS = {
    "secret.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="400">'
    f'<rect width="600" height="400" fill="{_PIXEL}"/><text y="50">{SECRET_WORD}</text></svg>',
    "secret.html": f'<!DOCTYPE html><body style="background:{_PIXEL}">{SECRET_WORD}',
    "secret.css": f"html, body, body * {{ background: {_PIXEL} !important; }}",
    "secret.js": "document.documentElement.style.cssText ="
    f' "background:{_PIXEL}"; document.body.style.background = "{_PIXEL}";',
}


@dataclass(frozen=True)
class Hostile:
    """One page of the corpus, as `corpus.json` describes it."""

    name: str
    file: str
    attempts: str
    outcome: str  # "scored", "flagged", "failed", or "any" of these
    flags: list[str]  # a "flagged" page must carry one of these
    mark_visible: bool  # the block with id "mark" must be in the picture
    same_twice: bool  # two renders must give the same bytes
    links: dict[str, str] = field(default_factory=dict)  # symbolic links to make beside it
    fifos: list[str] = field(default_factory=list)  # named pipes to make beside it
    sparse: dict[str, int] = field(default_factory=dict)  # large empty files beside it
    rename: str | None = None  # the awkward name that the page gets in its folder


def corpus() -> list[Hostile]:
    """Every page that `corpus.json` lists."""
    entries = json.loads((CORPUS / "corpus.json").read_text(encoding="utf-8"))
    return [Hostile(**entry) for entry in entries]


class Trap:
    """Listens on one loopback port (TCP and UDP, both IP versions) and remembers who knocked."""

    def __init__(self) -> None:
        self._sockets = self._bind()
        self.port = int(self._sockets[0].getsockname()[1])
        self._knocks: list[str] = []
        for each in self._sockets:
            threading.Thread(target=self._listen, args=(each,), daemon=True).start()

    @staticmethod
    def _bind() -> list[socket.socket]:
        first = socket.create_server(("127.0.0.1", 0))
        port = first.getsockname()[1]
        sockets = [first]
        packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        packets.bind(("127.0.0.1", port))
        sockets.append(packets)
        with contextlib.suppress(OSError):  # a machine without IPv6
            sockets.append(socket.create_server(("::1", port), family=socket.AF_INET6))
            packets6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            packets6.bind(("::1", port))
            sockets.append(packets6)
        return sockets

    def _listen(self, listener: socket.socket) -> None:
        while True:
            try:
                if listener.type == socket.SOCK_DGRAM:
                    packet, _ = listener.recvfrom(4096)
                    self._knocks.append(f"UDP packet {packet[:40]!r}")
                else:
                    connection, _ = listener.accept()
                    with connection:
                        connection.settimeout(0.2)
                        knock = f"TCP connection {_first_bytes(connection)!r}"
                    self._knocks.append(knock)
            except OSError:  # closed
                return

    def knocks(self) -> list[str]:
        """Return what arrived since the last call."""
        # The same list is kept: another thread may be adding to it.
        return [self._knocks.pop(0) for _ in range(len(self._knocks))]

    def close(self) -> None:
        for each in self._sockets:
            with contextlib.suppress(OSError):  # a TCP listener needs this to stop accepting
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _first_bytes(connection: socket.socket) -> bytes:
    try:
        return connection.recv(60)
    except OSError:
        return b""


def prepare(page: Hostile, folder: Path, trap: Trap) -> Path:
    """Lay out a fresh copy of a page below `folder`, secrets beside it; gives its HTML file."""
    outside = folder / "outside"
    outside.mkdir(parents=True)
    write_secrets(outside)
    inside = folder / "page"
    source = CORPUS / page.file
    if source.name == "index.html":
        shutil.copytree(source.parent, inside)
    else:
        inside.mkdir()
        shutil.copyfile(source, inside / source.name)
    values = {
        b"{{TRAP}}": f"http://127.0.0.1:{trap.port}".encode(),
        b"{{TRAP_WS}}": f"ws://127.0.0.1:{trap.port}".encode(),
        b"{{TRAP_HOST}}": f"127.0.0.1:{trap.port}".encode(),
        b"{{TRAP_PORT}}": str(trap.port).encode(),
        b"{{SECRET}}": str(outside).encode(),
        b"{{SECRET_URL}}": outside.as_uri().encode(),
    }
    for file in (f for f in inside.rglob("*") if f.is_file()):
        file.write_bytes(_fill_in(file.read_bytes(), values))
    for name, target in page.links.items():
        link = inside / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(target.replace("{{SECRET}}", str(outside)))
    for name in page.fifos:
        os.mkfifo(inside / name)
    for name, size in page.sparse.items():
        with (inside / name).open("wb") as hollow:
            hollow.truncate(size)
    path = inside / source.name
    return path.rename(inside / page.rename) if page.rename else path


def _fill_in(content: bytes, values: dict[bytes, bytes]) -> bytes:
    for placeholder, value in values.items():
        content = content.replace(placeholder, value)
    return re.sub(rb"\{\{REPEAT:(\d+):(.*?)\}\}", lambda found: found[2] * int(found[1]), content)


def write_secrets(folder: Path) -> None:
    """Write files that paint a large area in the secret colour wherever they are loaded."""
    for name, content in _SECRETS.items():
        (folder / name).write_text(content, encoding="utf-8")
    Image.new("RGB", (300, 200), SECRET_COLOUR).save(folder / "secret.png")


def snapshot(folder: Path) -> dict[str, Any]:
    """Names, kinds, sizes, modification times and contents below a folder, links not followed."""
    state: dict[str, Any] = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = Path(parent) / name
            status = path.lstat()
            content: object = None
            if path.is_symlink():
                content = path.readlink()
            elif path.is_file() and status.st_blocks * 512 >= status.st_size:  # not sparse
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            state[str(path.relative_to(folder))] = (
                status.st_mode,
                status.st_size if not path.is_dir() else 0,
                status.st_mtime_ns,
                content,
            )
    return state


def pixels_of(png: bytes, colour: tuple[int, int, int], tolerance: int = 0) -> int:
    """Count the pixels of a colour in a picture, each channel within `tolerance`."""
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.int16)
    near = np.abs(picture - np.array(colour, dtype=np.int16)) <= tolerance
    return int(near.all(axis=2).sum())


def family(marker: str = "") -> set[int]:
    """Living processes below this one, and any that carry `marker` in their environment."""
    parents: dict[int, int] = {}
    marked: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            environment = (entry / "environ").read_bytes()
        except OSError:  # gone meanwhile, or of another user
            continue
        state, parent = status.rpartition(")")[2].split()[:2]
        if state != "Z":
            parents[int(entry.name)] = int(parent)
            if marker and marker.encode() in environment:
                marked.add(int(entry.name))
    found = marked - {os.getpid()}
    generation = {os.getpid()}
    while generation:
        generation = {pid for pid, parent in parents.items() if parent in generation}
        found |= generation
    return found


def left_over(before: set[int], marker: str, patience: float = 8.0) -> dict[int, str]:
    """Processes that are still there after a moment, by number, with their command lines."""
    deadline = time.monotonic() + patience
    while (rest := family(marker) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return {pid: _command(pid)[:120] for pid in rest}


def _command(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return "gone"


@contextlib.contextmanager
def wall_clock(seconds: float, what: str) -> Iterator[None]:
    """End the browsers below this process, and fail, when something takes longer than it may.

    A call that waits for a browser then fails, and everything can be closed properly.
    """
    rang = threading.Event()

    def ring() -> None:
        rang.set()
        for pid in family():
            if "--type=" not in (command := _command(pid)) and "head" in command:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(seconds, ring)
    timer.start()
    try:
        yield
    except Exception as error:
        if rang.is_set():
            raise TimeoutError(f"{what} took more than {seconds} s: {error!r:.200}") from error
        raise
    finally:
        timer.cancel()
    if rang.is_set():
        raise TimeoutError(f"{what} took more than {seconds} s")
