"""The Ray executor on a real cluster of several nodes: the same results, whatever goes away."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from engine_toy import VariedToy, run_toy, write_dataset
from ray_nodes import LONG, Nodes, is_alive, started, wait_until
from ray_toy import FILES_ANYWHERE, facts, pids, run_files, write_files

import uiproof
from uiproof.engine import ray_pool as ray_workers
from uiproof.engine.progress import Progress
from uiproof.engine.rundir import RunDirectory
from uiproof.errors import UsageError, WorkerStartError

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

HERE = Path(__file__).parent
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own


@pytest.fixture(scope="module")
def nodes():
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", str(HERE))
        made = Nodes()
        ray.init(address=made.address, log_to_driver=False, logging_level=logging.ERROR)
        yield made
        ray.shutdown()
        made.cluster.shutdown()
    left = [
        child
        for child in psutil.Process().children(recursive=True)
        if child.pid not in before and is_alive(child.pid)
    ]
    assert left == []


@pytest.fixture
def two_nodes(nodes):
    nodes.add()
    return nodes


@pytest.fixture
def one_node(nodes):
    nodes.remove()
    return nodes


def noted_in(run) -> set[int]:
    """Judges and the browsers that they started."""
    return {int(pid) for pid in (run.path / "artifacts" / "pids").read_text().split()}


def ids_in_journal(run) -> list[str]:
    return [json.loads(line)["id"] for line in run.journal.read_bytes().splitlines()]


class After(Progress):
    """Does something when so many cases are finished."""

    def __init__(self, count: int, what) -> None:
        self._left, self._what = count, what

    def start(self, **counts) -> None: ...

    def advance(self, *, failed: bool) -> None:
        self._left -= 1
        if self._left == 0:
            self._what()

    def stop(self) -> None: ...


def test_results_are_those_of_the_other_executors(tmp_path, two_nodes, monkeypatch):
    dataset = write_dataset(
        *[tmp_path / "d.json", "raise", "fail", "nan", "unpicklable", "no score", "broken"],
        *["exit", "kill", "pose:raise", "print"],
        count=10,
    )
    runs = {
        name: run_toy(tmp_path / name, dataset, executor=name, workers=2)
        for name in ("processes", "ray")
    }
    ended = {
        name: [(one.id, one.status, one.scores, one.error and one.error.code, one.attempts)
               for one in run.records()]
        for name, run in runs.items()
    }  # fmt: skip
    assert ended["ray"] == ended["processes"]
    assert "killed by SIGKILL" in {one.id: one for one in runs["ray"].records()}["7"].error.message
    assert (runs["ray"].path / "workers.log").read_text() == "out\nerr\n"
    assert runs["ray"].manifest["workers"] == 2
    assert not list(runs["ray"].path.glob(".*"))  # the beacon is out
    monkeypatch.setenv("UIPROOF_TOY", "on")
    (tmp_path / "meeting").mkdir()
    files = write_files(tmp_path / "files", *[f"meet {tmp_path / 'meeting'}"] * 4)
    assert run_files(files, "by default").manifest["workers"] == 2  # what there is room for
    there, here = RunDirectory(files / "by default"), run_files(files, "here", executor="inline")
    assert facts(there) == facts(here)
    assert {one.details["setting"] for one in there.records()} == {"on"}
    assert len({one.details["pids"][0] for one in there.records()}) == 2  # one on each node
    wait_until(lambda: not any(map(is_alive, pids([there]))))


def test_an_actor_that_is_killed_costs_one_more_try(tmp_path, two_nodes):
    do = ["browse 0", f"kill-actor-once {tmp_path / 'seen'}", "nothing"]
    run = run_files(write_files(tmp_path, *do), "run", workers=1)
    ended = {one.id: one for one in run.records()}
    assert [one.status for one in ended.values()] == ["scored"] * 3
    assert ended["01"].attempts == 2
    wait_until(lambda: not any(map(is_alive, noted_in(run) | pids([run]))))
    assert sorted(ids_in_journal(run)) == ["00", "01", "02"]


def test_a_judge_that_hangs_is_ended_with_everything_below_it(tmp_path, two_nodes):
    folder = write_files(tmp_path, "browse 600", "nothing", "nothing")
    run = run_files(folder, "run", workers=1, case_timeout=5)
    ended = {one.id: one for one in run.records()}
    assert ended["00"].error.code == "case_timeout"
    assert [ended[one].status for one in ("01", "02")] == ["scored", "scored"]
    wait_until(lambda: not any(map(is_alive, noted_in(run) | pids([run]))))


def test_a_node_that_goes_away_half_way_changes_nothing(tmp_path, two_nodes):
    folder = write_files(tmp_path, *["browse 0.3"] * 14)
    undisturbed = run_files(folder, "undisturbed", executor="inline")
    run = run_files(folder, "run", workers=2, progress=After(5, two_nodes.remove))
    assert facts(run) == facts(undisturbed)
    assert sorted(ids_in_journal(run)) == [f"{number:02}" for number in range(14)]
    assert run.summary["failed"] == 0
    assert max(one.attempts for one in run.records()) == 2
    wait_until(lambda: not any(map(is_alive, noted_in(run) | pids([run]))))


def test_a_node_that_comes_later_is_used(tmp_path, one_node):
    (tmp_path / "meeting").mkdir()
    folder = write_files(tmp_path, "nothing", "nothing", *[f"meet {tmp_path / 'meeting'}"] * 3)
    run = run_files(folder, "run", workers=2, progress=After(2, one_node.add))
    assert run.summary["failed"] == 0
    assert len({one.details["pids"][3] for one in run.records()}) == 2  # two actors


def test_where_nothing_has_room_the_error_says_what_is_there(tmp_path, one_node, monkeypatch):
    monkeypatch.setattr(ray_workers, "START_SECONDS", 2)

    @ray.remote(num_cpus=1)
    class Occupant:
        def here(self) -> None: ...

    occupant = Occupant.remote()
    ray.get(occupant.here.remote())
    try:
        with pytest.raises(WorkerStartError, match=r"needs 1 CPU and 1 GiB.* with 1 CPUs and 2\.0"):
            run_files(write_files(tmp_path, "nothing"), "run")
    finally:
        ray.kill(occupant)
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == b""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_nothing_and_the_same_call_continues(tmp_path, two_nodes, how):
    folder = write_files(tmp_path, *["browse 0.2"] * 4, *["browse 1"] * 6)
    environment = {**os.environ, "RAY_ADDRESS": two_nodes.address}
    command = [sys.executable, "-c", "import ray_toy; ray_toy.main()", str(folder), "run"]
    main = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    journal = folder / "run" / "journal.jsonl"
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 4)
    main.send_signal(how)
    _, said = main.communicate(timeout=LONG)
    assert main.returncode != 0
    stopped = RunDirectory(folder / "run")
    if how == signal.SIGINT:
        assert said.decode().rstrip().endswith("KeyboardInterrupt")
        assert stopped.summary["complete"] is False
    done = ids_in_journal(stopped)
    assert 4 <= len(done) < 10
    wait_until(lambda: not any(map(is_alive, noted_in(stopped) | pids([stopped]))))
    run = run_files(folder, "run", workers=2)
    assert ids_in_journal(run)[: len(done)] == done
    assert sorted(ids_in_journal(run)) == [f"{number:02}" for number in range(10)]


def test_real_pages_score_the_same_inline_in_processes_and_on_two_nodes(tmp_path, two_nodes):
    demo = Path(uiproof.__file__).parent / "demo" / "design2code"
    for side in ("reference", "generated"):
        (tmp_path / side).mkdir()
        for name in ("pricing.html", "docs.html", "booking.html", "rick.jpg"):
            shutil.copy(demo / side / name, tmp_path / side / name)
    runs = [
        uiproof.score_folders(
            *[tmp_path / "reference", tmp_path / "generated"],
            out=tmp_path / executor,
            executor=executor,
            workers=2,
            quiet=True,
        )
        for executor in ("inline", "processes", "ray")
    ]
    seen = [
        [(one.id, one.status, one.scores, one.details, one.flags) for one in run.records()]
        for run in runs
    ]
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 3
    for one in runs[2].records():
        assert all(runs[2].artifact(name).stat().st_size for name in one.artifacts.values())


@dataclass(frozen=True)
class CutOff:
    hidden: Path  # the node sees nothing of what we have there
    cache: Path  # the node's own


@pytest.fixture(scope="module")
def bucket():
    """An S3 of our own, and what its users have in their environment."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    server.stop()


@pytest.fixture(scope="module")
def cut_off(nodes, bucket, tmp_path_factory):
    """A node that sees nothing of a folder, as if that were on another machine's disk."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("needs a mount namespace: unshare -m is not permitted here")
    nodes.remove()
    before = {one["NodeID"] for one in ray.nodes()}
    hidden, cache = tmp_path_factory.mktemp("hidden"), tmp_path_factory.mktemp("cache")
    command = [Path(sys.executable).parent / "ray", "start", "--block", "--disable-usage-stats"]
    command += [f"--address={nodes.address}", "--num-cpus=1", f"--memory={2 << 30}"]
    command += [f"--object-store-memory={100 << 20}"]
    script = f"mount -t tmpfs none {hidden} && exec {' '.join(map(str, command))}"
    log = tmp_path_factory.mktemp("log") / "node"

    def is_there() -> bool:
        return any(one["Alive"] for one in ray.nodes() if one["NodeID"] not in before)

    def start() -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            node = subprocess.Popen(
                ["unshare", "-m", "--propagation", "private", "sh", "-c", script],
                env={**os.environ, **bucket, "UIPROOF_CACHE": str(cache), "TOY_BROWSER": "2"},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        wait_until(lambda: is_there() or node.poll() is not None)
        if not is_there():
            raise RuntimeError(log.read_text())
        return node

    node = started(start)
    try:
        yield CutOff(hidden, cache)
    finally:
        below = psutil.Process(node.pid).children(recursive=True)
        node.terminate()
        node.wait(LONG)
        wait_until(lambda: not any(is_alive(child.pid) for child in below))
        wait_until(lambda: not is_there())


def test_a_node_that_cannot_see_the_data_stops_the_run(cut_off, tmp_path):
    folder = write_files(cut_off.hidden / "shared by nobody", *[f"meet {tmp_path}"] * 4)
    with pytest.raises(WorkerStartError, match="does not have the files of") as caught:
        run_files(folder, "run", workers=2, benchmark=FILES_ANYWHERE)
    assert "URL" in caught.value.remedy


def test_a_node_without_the_disk_fetches_data_that_has_a_url(
    cut_off, bucket, tmp_path, monkeypatch
):
    import boto3

    from uiproof.remote.mirror import fetch

    for name, value in {**bucket, "UIPROOF_CACHE": str(cut_off.hidden / "our cache")}.items():
        monkeypatch.setenv(name, value)
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    folder = write_files(tmp_path / "from a bucket", *[f"meet {meeting}"] * 3)
    store = boto3.client("s3", region_name="us-east-1")
    store.create_bucket(Bucket="uiproof")
    for file in (folder / "data").iterdir():
        store.upload_file(str(file), "uiproof", f"pages/{file.name}")
    data = fetch("s3://uiproof/pages")
    run = run_files(*[folder, "run"], dataset=data, workers=2, benchmark=FILES_ANYWHERE)
    assert [one.status for one in run.records()] == ["scored"] * 3
    assert {one.details["read"] for one in run.records()} == {str(file) for file in data.iterdir()}
    (fetched,) = (one for one in (cut_off.cache / "remote" / "data").iterdir() if one.is_dir())
    assert (fetched / "url").read_text() == "s3://uiproof/pages"


def test_a_node_with_another_environment_is_refused(cut_off):
    folder = write_files(cut_off.hidden / "compared", *["sleep 0.5"] * 200)
    with pytest.raises(WorkerStartError, match=r"environment\.browser is '2' there and '1' now"):
        run_files(folder, "run", workers=2)


def test_an_address_where_nobody_answers_is_an_error_at_once(tmp_path):
    code = (
        "import sys; from uiproof.cli import main; "
        "sys.argv[1:] = ['score', 'design2code', 'a.html', 'a.html', '--executor', 'ray', "
        "'--ray-address', '127.0.0.1:1']; main()"
    )
    (tmp_path / "a.html").write_text("<p>hello")
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=LONG
    )
    assert ended.returncode == 2
    assert "Nothing answers at 127.0.0.1:1" in ended.stderr


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "here"])
def test_addresses_that_cannot_be_used_are_refused(address, monkeypatch):
    from uiproof.engine.ray_pool import _check

    with pytest.raises(UsageError, match="Ray"):
        _check(address)


def test_a_judge_from_inside_a_function_is_refused(tmp_path):
    benchmark = VariedToy(judge=lambda run: None)
    with pytest.raises(UsageError, match="other machines"):
        run_toy(tmp_path / "run", tmp_path, benchmark=benchmark, executor="ray")
