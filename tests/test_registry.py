"""Which benchmarks there are, and where data sets are looked for."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from uiproof import registry
from uiproof.benchmark import Benchmark
from uiproof.errors import InputError, MissingDependencyError, UsageError
from uiproof.registry import benchmarks, resolve_dataset


class Blank(Benchmark):
    """Recognises folders by a file, and does nothing else."""

    def __init__(self, name: str, marker: str, **attributes) -> None:
        self.name, self._marker = name, marker
        self.bundled = attributes.get("bundled", {})
        self.layout = attributes.get("layout", "")

    bundled = None

    def recognises(self, path):
        return (path / self._marker).exists()

    def cases(self, path):
        return []

    def method(self, name, **_):
        raise NotImplementedError

    def judge(self, run, options):
        raise NotImplementedError


PAGES = Blank("pages", "pages.txt")
CLICKS = Blank("clicks", "clicks.txt")


@pytest.fixture
def installed(monkeypatch):
    """Installs benchmarks the way other packages do."""

    def install(**values: str) -> None:
        found = EntryPoints(
            EntryPoint(name, value, registry.ENTRY_POINTS) for name, value in values.items()
        )
        monkeypatch.setattr(registry, "entry_points", lambda group: found.select(group=group))

    install(pages="test_registry:PAGES", clicks="test_registry:CLICKS")
    return install


def test_our_own_benchmark_is_installed():
    assert "design2code" in benchmarks()


def test_benchmarks_of_other_packages_are_found(installed):
    assert benchmarks() == {"clicks": CLICKS, "pages": PAGES}


def test_a_benchmark_that_cannot_be_loaded_is_named(installed):
    installed(torn="no_such_module_anywhere:BENCHMARK")
    with pytest.raises(UsageError, match=r"torn \(no_such_module_anywhere:BENCHMARK\)"):
        benchmarks()


def test_the_folder_decides_the_benchmark(installed, tmp_path):
    (tmp_path / "clicks.txt").touch()
    assert resolve_dataset(str(tmp_path)) == (CLICKS, tmp_path)


def test_a_folder_that_nobody_recognises_is_refused(installed, tmp_path):
    with pytest.raises(InputError, match="clicks or pages"):
        resolve_dataset(str(tmp_path))


def test_bundled_data_sets_are_found_by_name(monkeypatch, tmp_path):
    bundling = Blank("pages", "pages.txt", bundled={"pages-demo": tmp_path})
    monkeypatch.setattr(registry, "benchmarks", lambda: {"pages": bundling})
    assert resolve_dataset("pages-demo") == (bundling, tmp_path)


def test_an_unknown_name_gets_those_that_are_like_it_and_where_all_are_listed(installed):
    with pytest.raises(InputError, match="no data set of that name") as raised:
        resolve_dataset("design2code-hrad")
    assert "Did you mean design2code-hard" in raised.value.remedy
    assert "`uiproof list`" in raised.value.remedy


def test_a_published_data_set_that_is_not_here_says_how_to_fetch_it(
    installed, monkeypatch, tmp_path
):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="uiproof data get design2code-hard"):
        resolve_dataset("design2code-hard")


def test_the_remedy_says_how_data_lies_and_points_to_an_example(monkeypatch, tmp_path):
    told = Blank(
        "pages", "pages.txt", layout="a folder with pages.txt.", bundled={"demo": tmp_path / "demo"}
    )
    monkeypatch.setattr(registry, "benchmarks", lambda: {"pages": told})
    with pytest.raises(InputError) as caught:
        resolve_dataset(str(tmp_path))
    assert "pages: a folder with pages.txt." in caught.value.remedy
    assert str(tmp_path / "demo") in caught.value.remedy
    assert "docs" not in caught.value.remedy
