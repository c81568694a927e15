"""TRL trains with our reward: GRPO, two steps, on the processor."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / ".tools"
PACKAGES = ("torch==2.13.0", "trl==1.16.0")

pytestmark = [pytest.mark.parity, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python with TRL that also finds what this one has; made once, and kept."""
    folder = TOOLS / "trl"
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "trl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may need it at once
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                install(folder)
            except (OSError, subprocess.CalledProcessError) as error:
                shutil.rmtree(folder, ignore_errors=True)
                said = (getattr(error, "stderr", None) or str(error)).strip()
                pytest.skip(f"TRL cannot be had from PyPI: {said[-300:]}")
    return folder / "bin" / "python"


def install(folder: Path) -> None:
    def run(*command: object) -> str:
        done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    run(sys.executable, "-m", "venv", folder)
    made = folder / "bin" / "python"
    uv = TOOLS / "bin" / "uv"  # pip takes half an hour for these packages on a busy machine
    if uv.exists():
        run(uv, "pip", "install", "-q", "--python", made, *PACKAGES)
    else:
        run(made, "-m", "pip", "install", "-q", *PACKAGES)
    site = run(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    # After its own packages, so that these go first.
    ours = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (Path(site) / "uiproof-tests.pth").write_text(ours)
    (folder / "ready").touch()


def test_trl_makes_two_steps_with_our_reward(python: Path, tmp_path: Path) -> None:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [str(python), str(HERE / "trl_steps.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.strip().splitlines()[-1])
    assert said["steps"] == 2
    logs = [one for one in said["log"] if "rewards/trl_reward/mean" in one]
    assert len(logs) == 2
    assert all(0 < one["rewards/trl_reward/mean"] < 1 for one in logs)
    assert max(one["rewards/trl_reward/std"] for one in logs) > 0
    assert all(0 <= one["uiproof/text"] <= 1 for one in logs)
    assert all(one["uiproof/timed_out"] == 0 for one in logs)
    assert said["moved"] > 0  # the model has learned something
