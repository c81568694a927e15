"""Which benchmarks there are, and where data sets are looked for."""

from __future__ import annotations

import dataclasses
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from uiproof import registry
from uiproof.errors import InputError, MissingDependencyError, UsageError
from uiproof.registry import Benchmark, benchmarks, resolve_dataset


def blank(name: str, marker: str, **options) -> Benchmark:
    return Benchmark(
        name=name,
        recognises=lambda path: (path / marker).exists(),
        cases=lambda path: [],
        method=lambda name: None,
        methods={},
        judge=lambda path: None,
        summarise=lambda records: {},
        **options,
    )


PAGES = blank("pages", "pages.txt")
CLICKS = blank("clicks", "clicks.txt")


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
    bundling = dataclasses.replace(PAGES, bundled={"pages-demo": tmp_path})
    monkeypatch.setattr(registry, "benchmarks", lambda: {"pages": bundling})
    assert resolve_dataset("pages-demo") == (bundling, tmp_path)


def test_an_unknown_name_gets_a_list_of_known_ones(installed):
    with pytest.raises(InputError, match="design2code-hard"):
        resolve_dataset("no-such-thing")


def test_a_published_data_set_that_is_not_here_says_how_to_fetch_it(
    installed, monkeypatch, tmp_path
):
    monkeypatch.setenv("UIPROOF_CACHE", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="uiproof data get design2code-hard"):
        resolve_dataset("design2code-hard")


def test_the_remedy_says_how_data_lies_and_points_to_an_example(monkeypatch, tmp_path):
    told = dataclasses.replace(
        PAGES, layout="a folder with pages.txt.", bundled={"demo": tmp_path / "demo"}
    )
    monkeypatch.setattr(registry, "benchmarks", lambda: {"pages": told})
    with pytest.raises(InputError) as caught:
        resolve_dataset(str(tmp_path))
    assert "pages: a folder with pages.txt." in caught.value.remedy
    assert str(tmp_path / "demo") in caught.value.remedy
    assert "docs" not in caught.value.remedy
