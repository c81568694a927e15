import signal
import subprocess
import sys
import time
from functools import partial

import pytest

PROGRAM = """
import sys
from uiproof.cli.main import run_cli

def command():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        sys.exit(130)

run_cli(command)
"""


def test_the_exit_code_is_kept_where_ctrl_c_struck_inside_of_exec(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "program"], cwd=tmp_path, check=False)
    assert done.returncode == 130


WAITING = """
import signal, sys, time
from uiproof.cli.main import run_cli

def command():
    try:
        print("ready", flush=True)
        while True:  # a signal that comes just before a sleep is only seen after it
            time.sleep(0.05)
    except KeyboardInterrupt:
        sys.exit(130)

run_cli(command)
"""
BLOCKING = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
os.execv(sys.argv[1], sys.argv[1:])
"""
PLAIN = ()
IGNORED = ("sh", "-c", 'trap "" INT TERM; exec "$@"', "sh")
BLOCKED = (sys.executable, "-c", BLOCKING)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("inside", [PLAIN, IGNORED, BLOCKED], ids=["plain", "ignored", "blocked"])
def test_a_signal_ends_a_command_however_it_was_started(tmp_path, number, inside):
    (tmp_path / "program.py").write_text(WAITING)
    command = [*inside, sys.executable, "-m", "program"]
    # The tests themselves may have been started with `nohup`.
    heard = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, preexec_fn=heard
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(30) == 130


def test_under_nohup_a_closed_terminal_does_not_end_a_command(tmp_path):
    (tmp_path / "program.py").write_text(WAITING)
    inside = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    command = [*inside, sys.executable, "-m", "program"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
