"""What is a URL, and what people are told when something is wrong with one."""

from __future__ import annotations

import http.server
import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from remote_server import serving

import uiproof
from uiproof.cli import app
from uiproof.errors import DownloadError, InputError, MissingDependencyError, UsageError
from uiproof.remote import store
from uiproof.remote.mirror import fetch
from uiproof.remote.store import checked, explained, is_url, without_secrets


@pytest.mark.parametrize(
    "name", ["s3://bucket/pages", "gs://b/x", "file:///data", "memory://x", "https://host/pages/"]
)
def test_urls_are_recognised(name):
    assert is_url(name)


@pytest.mark.parametrize(
    "name",
    [
        "pages",
        "/data/pages",
        "C://pages",
        "compatible:http://localhost:8000/v1#Qwen",
        "replay:s3://bucket/x",
        "openai/gpt-4o",
        "s3:/bucket",
        Path("s3://bucket"),
    ],
)
def test_paths_models_and_drives_are_no_urls(name):
    assert not is_url(name)


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIA:hush@bucket/pages",
        "https://me:hush@host/pages",
        "https://host/pages?X-Amz-Signature=hush",
        "https://host/pages?sig=hush&x=1",
    ],
)
def test_a_url_with_credentials_is_refused_without_repeating_them(url):
    with pytest.raises(UsageError, match="carries credentials") as refused:
        fetch(url)
    assert "hush" not in str(refused.value)


def test_a_user_without_a_password_is_part_of_some_addresses():
    assert checked("abfs://container@account.dfs.example/pages/") == (
        "abfs://container@account.dfs.example/pages"
    )


def test_what_a_library_quotes_is_told_without_its_password():
    assert without_secrets("no answer from http://me:hush@host/x") == "no answer from http://host/x"


def test_a_url_that_names_no_bucket_is_refused():
    with pytest.raises(UsageError, match="names no bucket"):
        fetch("s3://")


@pytest.mark.parametrize("place", ["s3://bucket/x", Path("s3://bucket/x"), "file:///x"])
def test_files_of_this_machine_are_not_looked_for_at_urls(place, tmp_path, monkeypatch):
    """A path of `s3://bucket/x` would be a folder `s3:` here."""
    monkeypatch.chdir(tmp_path)
    runs = [tmp_path / "run"]
    for use in (
        lambda: uiproof.write_table(runs, f"{place}.csv"),
        lambda: uiproof.write_report(runs, f"{place}.html"),
        lambda: uiproof.write_submission(runs, f"{place}.json", name="X"),
        lambda: uiproof.check_submission(f"{place}.json"),
        lambda: app(["generate", "--count", "1", "--out", str(place)], standalone_mode=False),
        lambda: app(["collect", "a.html", "--out", str(place)], standalone_mode=False),
        lambda: app(["compare", "run", "--charts-dir", str(place)], standalone_mode=False),
    ):
        with pytest.raises(UsageError, match="is a URL, and this is"):
            use()
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_scheme_is_refused(machine):
    with pytest.raises(UsageError, match="nothing is known about nope://"):
        fetch("nope://host/pages")


@pytest.mark.parametrize(
    ("scheme", "library", "extra"), [("s3", "s3fs", "s3"), ("gs", "gcsfs", "gs")]
)
def test_a_missing_extra_is_named(scheme, library, extra, tmp_path):
    # In a process of its own: fsspec remembers what it has imported.
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from uiproof.errors import MissingDependencyError\n"
        "from uiproof.remote.mirror import fetch\n"
        f"try: fetch('{scheme}://bucket/pages')\n"
        "except MissingDependencyError as error: print(error.remedy)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == f"pip install 'uiproof[{extra}]'"


def test_nothing_is_there(bucket, machine):
    with pytest.raises(InputError, match=f"There is nothing at {bucket.url}/nowhere"):
        fetch(f"{bucket.url}/nowhere")


def test_a_missing_bucket_is_told(bucket, machine):
    with pytest.raises(InputError, match="bucket does not exist"):
        fetch("s3://no-such-bucket-at-all/pages")


def test_wrong_credentials_are_told(bucket, machine, monkeypatch):
    bucket.put("pages/1.html", "one")
    request = urllib.request.Request(
        f"{bucket.server.url}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"}
    )
    with urllib.request.urlopen(request):
        pass
    try:
        with pytest.raises(InputError, match="may not be read with these credentials") as refused:
            fetch(f"{bucket.url}/pages")
    finally:
        request.data = b"100000000"
        with urllib.request.urlopen(request):
            pass
    assert "AWS_ACCESS_KEY_ID" in refused.value.remedy


def test_missing_credentials_are_told(bucket, machine, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(MissingDependencyError, match="no credentials for s3://") as missing:
        fetch(f"{bucket.url}/pages")
    assert "AWS_ENDPOINT_URL" in missing.value.remedy


def test_a_server_that_is_not_there_is_told(bucket, machine, monkeypatch):
    monkeypatch.setitem(store._S3_TIMEOUTS, "retries", {"max_attempts": 0})
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(DownloadError, match="cannot be read") as down:
        fetch(f"{bucket.url}/pages")
    assert "run the same command again" in down.value.remedy


def test_nobody_waits_long_for_a_server_that_says_nothing(machine, monkeypatch):
    """gcsfs alone would try for about a minute."""
    monkeypatch.setattr(store, "_PATIENCE", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        with pytest.raises(DownloadError, match="gave no answer within 1 seconds") as told:
            fetch("gs://bucket/pages")
    assert "gcloud auth" in told.value.remedy


class Anonymous(http.server.BaseHTTPRequestHandler):
    """Answers as Google's storage does to a caller without credentials."""

    def do_GET(self):
        why = {"error": {"code": 401, "message": "Anonymous caller does not have access"}}
        body = json.dumps(why).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def test_google_storage_without_credentials_is_told(machine, monkeypatch):
    with serving(Anonymous) as address:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        with pytest.raises(InputError, match="may not be read with these credentials") as refused:
            fetch("gs://bucket/pages")
    assert "gcloud auth" in refused.value.remedy


class DefaultCredentialsError(Exception):
    """As google-auth calls it."""


class HttpError(Exception):
    """As gcsfs raises it: with the code of the answer."""

    code = 403


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (DefaultCredentialsError("none found"), MissingDependencyError, "no credentials"),
        (HttpError("Anonymous caller"), InputError, "may not be written"),
        (OSError(28, "No space left on device"), Exception, "Nothing can be stored"),
        (FileNotFoundError("gs://b/x"), InputError, "nothing at"),
    ],
)
def test_errors_of_libraries_become_words(error, kind, words):
    told = explained("gs://b/x", error, done="written")
    assert isinstance(told, kind)
    assert words in told.message


def test_settings_of_fsspec_count(bucket, machine, monkeypatch, tmp_path):
    """Those who need more than the environment have a file for it."""
    bucket.put("pages/1.html", "one")
    (tmp_path / "conf").mkdir()
    endpoint = {"s3": {"endpoint_url": bucket.server.url}}
    (tmp_path / "conf" / "s3.json").write_text(json.dumps(endpoint))
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    code = (
        "from uiproof.remote.mirror import fetch\n"
        f"print(fetch('{bucket.url}/pages/1.html').read_text())"
    )
    monkeypatch.setenv("FSSPEC_CONFIG_DIR", str(tmp_path / "conf"))
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "one"
