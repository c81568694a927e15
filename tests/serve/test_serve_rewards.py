"""Rewards over HTTP: our own form, those of OpenRLHF and slime, and the client."""

from __future__ import annotations

import pytest
from serve_process import GENERATED, REFERENCE, serving

import uiproof
from uiproof.errors import UiproofError
from uiproof.rewards.frameworks import FrameworkReward

CHAT = "<|im_start|>user\nMake it<|im_end|>\n<|im_start|>assistant\n"
CHAT += f"```html\n{GENERATED}\n```<|im_end|>"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rewards")
    with serving("--workers", 1, "--deadline", 100, folder=folder, token="secret") as service:
        service.client.headers["Authorization"] = "Bearer secret"
        yield service


@pytest.fixture(scope="module")
def client(service):
    return uiproof.Client(service.url, token="secret")


@pytest.fixture(scope="module")
def expected():
    return uiproof.reward(GENERATED, REFERENCE)


def test_the_reward_is_that_of_python(service, expected):
    answer = service.client.post("/reward", json={"reference": REFERENCE, "generated": GENERATED})
    found = answer.json()
    assert answer.status_code == 200
    assert found["reward"] == float(expected)
    assert found["components"] == expected.components
    assert (found["reason"], found["error"]) == ("", None)


def test_rewards_need_the_token_and_a_body_that_makes_sense(service):
    body = {"generated": GENERATED}
    assert (
        service.client.post("/reward", json=body, headers={"Authorization": ""}).status_code == 401
    )
    for wrong in (
        {"reference": REFERENCE},
        {**body, "weights": {"beauty": 1}},
        {**body, "reference": REFERENCE, "profile": "gentle"},
        {**body, "weights": {"styled": -1}},
        {**body, "dataset": "pages"},
    ):
        assert service.client.post("/reward", json=wrong).status_code == 422, wrong
    assert service.client.post("/reward/slime", json={"prompt": "x"}).status_code == 422
    assert service.client.post("/reward/openrlhf", json={"query": []}).status_code == 422


def test_a_batch_keeps_its_order_and_one_bad_answer_costs_no_other(client, expected):
    found = client.reward_many(
        [
            {"reference": REFERENCE, "generated": GENERATED},
            {"reference": REFERENCE, "generated": "I am sorry, I cannot.", "completion": True},
            {"generated": ""},
            {"reference": [20, 20, 120, 50], "generated": "click(64, 31)"},
        ]
    )
    assert [float(one) for one in found] == [float(expected), 0.0, 0.0, 1.0]
    assert "declined" in found[1].reason
    assert found[2].reason == "The page shows nothing."


def test_openrlhf_gets_its_own_form(service, expected):
    body = {"query": [CHAT, "nothing"], "prompts": ["x", "y"], "labels": [REFERENCE, REFERENCE]}
    found = service.client.post("/reward/openrlhf", json=body).json()
    assert found["rewards"] == found["scores"] == [float(expected), 0.0]
    assert found["extra_logs"]["text"][0] == expected.components["text"]
    assert {len(values) for values in found["extra_logs"].values()} == {2}


def test_slime_gets_a_number(service, expected):
    body = {"prompt": "Make it", "response": f"```html\n{GENERATED}\n```", "label": REFERENCE}
    assert service.client.post("/reward/slime", json=body).json() == float(expected)


def test_a_deadline_is_no_reward_of_0(service, client):
    body = {"generated": GENERATED, "deadline": 0.0001}
    late = service.client.post("/reward", json=body)
    assert (late.status_code, late.json()["reward"]) == (504, None)
    assert client.reward(GENERATED, deadline=0.0001) is None


def test_the_client_scores_as_well(client):
    (found,) = client.score([{"reference": REFERENCE, "generated": REFERENCE}])
    assert found["scores"]["strict"]["text"] == 1
    with pytest.raises(UiproofError, match="needs its token"):
        uiproof.Client(client._url).reward(GENERATED)


def test_trainers_may_use_the_service(service, monkeypatch, expected):
    monkeypatch.setenv("UIPROOF_SERVE_TOKEN", "secret")
    reward = FrameworkReward(url=service.url)
    answer = reward.openrlhf([CHAT], ["x"], [REFERENCE])
    assert [float(one) for one in answer["rewards"]] == pytest.approx([float(expected)])


def test_the_description_has_all_forms(service):
    paths = service.client.get("/openapi.json").json()["paths"]
    assert {"/score", "/reward", "/reward/openrlhf", "/reward/slime"} <= paths.keys()
    assert "requestBody" in paths["/reward"]["post"]
    assert service.client.get("/docs").status_code == 200
