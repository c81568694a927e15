"""What is promised in files that no program reads: the lock, the docs, the public names."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest

import uiproof

ROOT = Path(__file__).resolve().parents[1]
LOCK = (ROOT / "requirements.lock").read_text()
README = (ROOT / "README.md").read_text()
DOCS = README + "".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def targets():
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_lock_names_neither_a_host_nor_a_path():
    assert not re.search(r"https?:|file:|://|--index|--find-links|--extra-index|@ ", LOCK)
    assert not re.search(r"(^|\s)[./~]*/\w", LOCK)


def test_the_lock_pins_every_package_with_hashes():
    entries = re.split(r"\n(?=[a-zA-Z])", re.sub(r"^#.*\n", "", LOCK, flags=re.MULTILINE).strip())
    assert len(entries) > 30
    for entry in entries:
        assert re.match(r"[a-z0-9.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_tool_that_sets_up_the_environment_is_pinned_with_hashes():
    pin = (ROOT / "scripts" / "uv.txt").read_text()
    lines = [line for line in pin.splitlines() if line and not line.startswith("#")]
    assert re.fullmatch(r"uv==\d+\.\d+\.\d+ \\", lines[0])
    assert len(lines) > 5
    for line in lines[1:]:
        assert re.fullmatch(r" +--hash=sha256:[0-9a-f]{64}(?: \\)?", line), line
    installs = re.findall(r"pip install .*", (ROOT / "scripts" / "setup.sh").read_text())
    assert installs
    for install in installs:
        # Everything comes with hashes; the package itself comes from this folder alone.
        assert "--require-hashes" in install or "--no-deps" in install, install


def test_the_lock_covers_every_dependency_and_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        wanted += [line for line in extra if not line.startswith("uiproof[")]
    pinned = {normal(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", LOCK, re.MULTILINE)}
    assert {normal(re.match(r"[\w.-]+", line)[0]) for line in wanted} <= pinned


def test_what_is_installed_is_what_pyproject_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = {normal(re.match(r"[\w.-]+", line)[0]) for line in requires("uiproof") or []}
    assert {normal(re.match(r"[\w.-]+", line)[0]) for line in project["dependencies"]} <= installed


def test_every_make_command_in_the_docs_exists():
    text = DOCS + (ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
    assert {"demo", "test", "check"} <= named
    assert named <= targets()


def test_every_verb_is_in_the_docs_and_every_documented_verb_exists():
    done = subprocess.run(
        [sys.executable, "-m", "uiproof", "--help"], capture_output=True, text=True, check=True
    )
    listed = re.findall(r"^  (\w+)  ", done.stdout.split("Score and look:")[1], re.MULTILINE)
    documented = set(re.findall(r"(?:^|`|&& )uiproof ([a-z]+)", DOCS, re.MULTILINE))
    assert documented == set(listed)


def test_every_setting_is_documented():
    settings = (ROOT / "src/uiproof/settings.py").read_text()
    for variable in set(re.findall(r"UIPROOF_[A-Z_]*[A-Z]", settings)):
        assert variable in DOCS, variable


def test_local_links_in_the_docs_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_public_name_can_be_had_and_is_documented():
    assert uiproof.__all__ == sorted(uiproof.__all__)
    assert dir(uiproof) == uiproof.__all__
    for name in uiproof.__all__:
        value = getattr(uiproof, name)
        assert isinstance(value, str) or value.__doc__, name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = uiproof.no_such_name


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, uiproof; print([m for m in sys.modules if m.startswith('uiproof.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_data_files_ship_with_the_package():
    package = Path(uiproof.__file__).parent
    assert json.loads((package / "catalogue.json").read_text())
    assert (package / "py.typed").is_file()


def test_scripts_can_be_executed():
    for script in ("scripts/setup.sh", ".ci/run"):
        assert os.access(ROOT / script, os.X_OK), script


def test_no_file_names_a_path_of_the_machine_it_was_written_on():
    pattern = re.compile(r"(^|[^\w./-])/(work|farm|root)/")
    for folder in ("src", "tests", "docs", "scripts", ".ci", "bench"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".md", ".sh", ".js", ".json", ".toml"} or path.name == "run":
                text = path.read_text(errors="replace") if path.is_file() else ""
                assert path == Path(__file__) or not pattern.search(text), path


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("rapidocr", "from uiproof.vision.ocr import _engine; _engine()", "ocr"),
        ("onnxruntime", "from uiproof.vision.clip import ClipModel; ClipModel('x.onnx')", "clip"),
        ("matplotlib", "from uiproof.charts import draw; draw({}, None)", "charts"),
        (
            "sacrebleu",
            "from uiproof.benchmarks.interaction2code.judging.text import word_bleu as bleu; "
            "bleu('a', 'b')",
            "interactions",
        ),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(module, call, extra):
    code = f"import sys; sys.modules[{module!r}] = None\n{call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingDependencyError" in done.stderr
    assert f"pip install 'uiproof[{extra}]'" in done.stderr


def test_the_core_needs_nothing_that_only_some_users_need():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = {normal(re.match(r"[\w.-]+", line)[0]) for line in project["dependencies"]}
    assert not core & {"matplotlib", "onnxruntime", "playwright", "rapidocr", "scikit-image"}
