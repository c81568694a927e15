import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from uiproof import doctor

REQUIRED = {"python", "browser", "rendering", "fonts"}


def test_a_machine_that_can_run_the_tests_has_everything_required():
    findings = {finding.name: finding for finding in doctor.examine()}
    required = {name: finding for name, finding in findings.items() if finding.required}
    assert set(required) <= REQUIRED
    assert {"python", "browser", "rendering"} <= set(required)
    assert all(finding.found for finding in required.values())
    assert findings["ocr"].found
    assert "rapidocr" in findings["ocr"].detail


def test_everything_that_is_missing_comes_with_a_command(monkeypatch, tmp_path):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    for finding in doctor.examine():
        assert finding.detail
        assert finding.found or finding.remedy, f"{finding.name} has no remedy"


def test_weights_that_are_nowhere_are_absent_but_not_required(monkeypatch, tmp_path):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    for variable in ("UIPROOF_CLIP", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    clip = {finding.name: finding for finding in doctor.examine()}["clip weights"]
    assert not clip.found
    assert not clip.required
    assert "uiproof data get clip-vit-b-32" in clip.remedy


def test_weights_named_by_the_environment_are_found_or_missed_by_name(monkeypatch, tmp_path):
    monkeypatch.setenv("UIPROOF_CLIP", str(tmp_path / "tower.onnx"))
    missed = doctor._clip_weights()
    assert not missed.found
    assert "tower.onnx" in missed.detail
    (tmp_path / "tower.onnx").write_bytes(b"weights")
    assert doctor._clip_weights().found


def test_extras_are_listed_and_those_for_developers_only_on_request():
    assert "extra: dev" not in {finding.name for finding in doctor._extras(dev=False)}
    extras = {finding.name: finding for finding in doctor._extras(dev=True)}
    assert extras["extra: dev"].found
    assert "pytest" in extras["extra: dev"].detail


def test_without_a_browser_the_exit_code_is_3_and_the_remedy_is_told(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "uiproof", "doctor"],
        env=os.environ | {"UIPROOF_CHROMIUM": str(tmp_path / "nothing")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    line = next(line for line in done.stdout.splitlines() if line.startswith("MISSING"))
    assert "browser" in line
    assert "UIPROOF_CHROMIUM" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_browser_that_does_not_work_gets_another_remedy_than_asking_the_doctor(
    monkeypatch, tmp_path
):
    browser = tmp_path / "browser"
    browser.write_text("#!/bin/sh\necho Chromium 1.2.3\necho and a second line\nexit 1\n")
    browser.chmod(0o755)
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(browser))
    findings = {finding.name: finding for finding in doctor._browser()}
    assert "\n" not in findings["browser"].detail
    assert "Chromium 1.2.3 at" in findings["browser"].detail
    assert not findings["rendering"].found
    assert "uiproof doctor" not in findings["rendering"].remedy
    assert "UIPROOF_CHROMIUM" in findings["rendering"].remedy


def test_a_browser_that_cannot_even_be_started_is_a_finding(monkeypatch, tmp_path):
    browser = tmp_path / "browser"
    browser.write_bytes(b"\x7fELF but not really")
    browser.chmod(0o755)
    monkeypatch.setenv("UIPROOF_CHROMIUM", str(browser))
    (finding,) = doctor._browser()
    assert not finding.found
    assert finding.required
    assert finding.remedy


@contextmanager
def parser_server():
    """Answers as OmniParser's server does when it is asked whether it is ready."""

    class Ready(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/probe/" else 404)
            self.end_headers()
            self.wfile.write(b'{"message": "Omniparser API ready"}')

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Ready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_servers_of_grounding_methods_are_asked_whether_they_are_there(monkeypatch):
    from uiproof.doctor import _servers

    with parser_server() as url:
        monkeypatch.setenv("EVAL_OMNIPARSER_URL", url)
        monkeypatch.setenv("EVAL_UITARS_URL", "http://user:secret-word@127.0.0.1:9/v1")
        parser, tars = _servers()
    assert (parser.found, parser.required) == (True, False)
    assert not tars.found
    assert "EVAL_UITARS_URL" in tars.remedy
    assert "secret-word" not in f"{tars.detail} {tars.remedy}"
