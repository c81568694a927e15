"""What is sent to trackers, and what is not."""

from __future__ import annotations

import json
import sys

import pytest
from tracking_runs import SECRETS

import uiproof
from uiproof.errors import MissingDependencyError, UsageError
from uiproof.integrations.tracking import cases_of, facts_of
from uiproof.redaction import redact


def test_every_mean_is_a_metric_by_its_path_with_the_ends_of_its_interval(a_run):
    facts = facts_of(a_run())
    assert facts.metrics == {
        "paper.text": 0.25,
        "paper.text.low": 0.0,
        "paper.text.high": 0.5,
        "human": 0.5,
        "n": 2.0,
        "failed": 1.0,
        "by_tag.gr_e_x": 0.75,
        "by_tag.gr_e_x.low": 0.5,
        "by_tag.gr_e_x.high": 1.0,
        "seconds.score": 2.5,
        "usage.requests": 3.0,
        "usage.cost": 0.25,
    }
    assert facts.not_measured == ("paper.clip", "paper.color")


def test_parameters_are_flat_and_hold_neither_secrets_nor_paths(a_run):
    run = a_run()
    facts = facts_of(run)
    assert facts.parameters["dataset"] == "pages"
    assert facts.parameters["method"] == "replay:my predictions"
    assert facts.parameters["settings.parameters.temperature"] == 0.5
    assert facts.parameters["settings.parameters.max_tokens"] == 100
    assert facts.parameters["settings.base_url"] == "https://models.example/v1"
    assert facts.parameters["fingerprint.viewport"] == "[1280, 720]"
    assert "settings.parameters.seed" not in facts.parameters
    everything = json.dumps([facts.parameters, facts.state, list(cases_of(run, facts.columns))])
    assert not [secret for secret in SECRETS if secret in everything]
    assert "No page at 2.html." in everything


def test_a_run_keeps_its_id_when_it_is_continued_or_moved_and_another_run_has_another(a_run):
    first = facts_of(a_run("a"))
    assert facts_of(a_run("a", limit=None, cases=9, workers=8, mean=0.4)).id == first.id
    assert facts_of(a_run("moved")).id == first.id
    assert facts_of(a_run("b", method="blueprint")).id != first.id
    assert facts_of(a_run("c", created="2026-01-02T03:04:06+00:00")).id != first.id


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("replay:/a b/c d", "replay:c d"),
        ("replay:predictions/x", "replay:predictions/x"),
        ("openai/gpt-4o", "openai/gpt-4o"),
        ("~/x/y", "y"),
        (r"C:\Users\ann\pages", "pages"),
        ("see file:///home/ann/x.html, please", "see x.html, please"),
        ("GET https://u:p@h:1/v1?k=v failed", "GET https://h:1/v1 failed"),
        ("Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer [key]"),
        ("1/2 of 3 and/or 4", "1/2 of 3 and/or 4"),
        (
            {"apiKey": 1, "max_tokens": 2, "tokenizer": 3, "X-Auth": 4},
            {"max_tokens": 2, "tokenizer": 3},
        ),
        (["/a/b", 1, None, True], ["b", 1, None, True]),
        ("http://[bad", "[address]"),
    ],
)
def test_what_is_told_of_a_text(said, heard):
    assert redact(said) == heard
    assert redact(heard) == heard


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("wandb", lambda run: uiproof.track_wandb([run], project="p")),
        ("mlflow", lambda run: uiproof.track_mlflow([run], experiment="e")),
    ],
)
def test_a_missing_package_is_named_with_its_extra(a_run, monkeypatch, module, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"uiproof\[{module}\]"):
        call(a_run())


def test_no_run_at_all_is_wrong_use():
    with pytest.raises(UsageError):
        uiproof.track_mlflow([], experiment="e")
