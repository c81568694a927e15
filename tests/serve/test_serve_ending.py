"""How a service begins and ends: tokens, signals, nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from serve_process import GENERATED, LOOP, REFERENCE, SLOW, serving

from uiproof.process_tree import descendants

IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")  # as a shell script does


def left_of(family, seconds=10):
    until = time.monotonic() + seconds
    while (left := family & set(descendants(1))) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def test_a_service_with_a_token_drains_when_it_is_told_to_end(tmp_path):
    token = {"Authorization": "Bearer open-sesame"}
    page = {"reference": REFERENCE, "generated": GENERATED}
    with serving("--workers", 1, folder=tmp_path, token="open-sesame") as service:
        for wrong in ({}, {"Authorization": "Bearer open"}, {"Authorization": "open-sesame"}):
            refused = service.client.post("/score", json=page, headers=wrong)
            assert refused.status_code == 401
            assert refused.headers["WWW-Authenticate"] == "Bearer"
        assert service.client.get("/metrics").status_code == 401
        assert service.client.get("/health").status_code == 200
        service.client.headers.update(token)

        family = service.family()
        with ThreadPoolExecutor(4) as threads:
            slow = threads.submit(service.score, reference=REFERENCE, generated=SLOW)
            service.wait_for(lambda: service.metric("uiproof_in_flight") == 1)
            waiting = [threads.submit(service.score, **page) for _ in range(3)]
            service.wait_for(lambda: service.metric("uiproof_queue_length") == 3)
            service.process.send_signal(signal.SIGTERM)
            service.wait_for(lambda: service.client.get("/ready").status_code == 503)
            late = httpx.post(f"{service.url}/score", json=page, headers=token)
            assert late.status_code == 503
            assert late.json()["error"]["code"] == "draining"
            assert [one.result().json()["status"] for one in waiting] == ["scored"] * 3
            assert slow.result().json()["scores"] is not None
        assert service.process.wait(30) == 0
        assert not left_of(family)
    assert not list(tmp_path.glob("uiproof-*"))


def test_the_second_signal_ends_everything_at_once(tmp_path):
    with serving("--workers", 1, folder=tmp_path) as service:
        family = service.family()
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(service.score, reference=REFERENCE, generated=LOOP)
            service.wait_for(lambda: service.metric("uiproof_in_flight") == 1)
            service.process.send_signal(signal.SIGTERM)
            service.wait_for(lambda: service.client.get("/ready").status_code == 503)
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(10) == 128 + signal.SIGTERM
            assert isinstance(answer.exception(), httpx.TransportError)
        assert not left_of(family)
    assert not list(tmp_path.glob("uiproof-*"))


def test_a_service_that_a_script_started_in_the_background_is_ended_by_ctrl_c(tmp_path):
    with serving("--workers", 1, folder=tmp_path, inside=IN_BACKGROUND) as service:
        family = service.family()
        service.process.send_signal(signal.SIGINT)
        assert service.process.wait(30) == 0
        assert not left_of(family)
    assert not list(tmp_path.glob("uiproof-*"))


def test_what_takes_longer_than_the_drain_is_told_so(tmp_path):
    with serving("--workers", 1, "--drain", 0, folder=tmp_path) as service:
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(service.score, reference=REFERENCE, generated=LOOP)
            service.wait_for(lambda: service.metric("uiproof_in_flight") == 1)
            service.process.send_signal(signal.SIGINT)
            assert answer.result().status_code == 503
        assert service.process.wait(30) == 0


def serve(*options):
    command = [sys.executable, "-m", "uiproof", "serve", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_other_machines_are_not_let_in_without_a_decision():
    done = serve("--host", "0.0.0.0")
    assert done.returncode == 2
    assert "--token" in done.stderr


def test_a_data_set_that_is_not_there_is_an_error_at_the_start(tmp_path):
    done = serve("--dataset", f"mine={tmp_path / 'absent'}")
    assert done.returncode == 2
    assert "absent" in done.stderr
