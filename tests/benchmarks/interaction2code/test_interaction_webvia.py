"""WebVIA: its graphs as they lie on disk, steps, folders of models, published verdicts."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from uiproof.benchmark import BrokenCase
from uiproof.benchmarks.interaction2code.actions import named_in
from uiproof.benchmarks.interaction2code.api import replayed
from uiproof.benchmarks.interaction2code.cases import Answer, case_of, cases
from uiproof.benchmarks.interaction2code.graph import (
    Graph,
    Interaction,
    Step,
    read_dataset,
    read_graph,
    write_graph,
)
from uiproof.benchmarks.interaction2code.judge import Interaction2CodeJudge
from uiproof.benchmarks.interaction2code.judging.triggers import TriggerQuery, find_trigger
from uiproof.benchmarks.interaction2code.webvia import WINDOW, read_verdicts
from uiproof.browser import PageSource, Renderer
from uiproof.browser.snapshots import Action
from uiproof.cli import app
from uiproof.errors import InputError, UsageError
from uiproof.registry import resolve_dataset
from uiproof.vision.images import encode_png


def element(id_, tag, shown="", **attrs):
    return {"id": id_, "tag": tag, "attrs": attrs, "visible_text": shown}


ADD = element(4, "BUTTON", " 添加", text="添加")
EDIT = element(6, "BUTTON", "", text="编辑")
FORM = [
    element(9, "INPUT", "", type="text", text="姓名", placeholder="例如：王-五"),
    element(10, "SELECT", "一班", text="班级"),
    element(11, "INPUT", "3", type="range", text="评分", value="3"),
    element(12, "INPUT", "on", type="checkbox", text="同意"),
    element(13, "BUTTON", "保存", text="保存"),
]
NAMES = ["start.png", "_添加.png", "_编辑.png", "_添加_input_9_张三.png", "_添加_保存.png"]
LAST = "_添加_input_9_张三_select_10_二班_input_11_5_on_保存"
PROMPT = (
    "第1个互动操作：本操作为单一操作，起始图是第1张图，操作内部顺序是“点击- 添加”；\n"
    "第2个互动操作：本操作为单一操作，起始图是第1张图，操作内部顺序是“点击-”；\n"
    "第3个互动操作：本操作为多操作序列，起始图是第2张图，操作结束图是第5张图，"
    "操作内部顺序是“输入-例如：王-五-张三， 选择-二班， 输入-3-5， 点击-on， 点击-保存”"
)
TASKS = [("添加", True), ("编辑", False), ("添加-input张三-二班-input5-on_保存", True)]


def operations(names):
    def one(start, end, **acted):
        return {**acted, "start_image_path": names[start], "end_image_path": names[end]}

    return [
        one(0, 1, type="single", dom_info=ADD),
        one(0, 2, type="single", dom_info=EDIT),
        one(1, 4, type="multiple", dom_info_list=FORM),
    ]


def states(folder, names):
    folder.mkdir(parents=True)
    for number, name in enumerate(names):
        rgb = np.full((638, 1135, 3), 255, np.uint8)
        rgb[: 100 * number] = 90
        (folder / name).write_bytes(encode_png(rgb))


@pytest.fixture
def pages(tmp_path):
    """A folder for each page, with verdicts."""
    folder = tmp_path / "pages" / "7"
    names = [f"{number}.png" for number in range(5)]
    states(folder, names)
    content = {
        "prompt": PROMPT,
        "images": names,
        "image_names": [*NAMES[:-1], f"{LAST}.png"],
        "operations": operations(names),
        "llm_verdicts": {"gpt4o": [{"task": task, "pass": works} for task, works in TASKS]},
    }
    (folder / "graph.json").write_text(json.dumps(content, ensure_ascii=False))
    return folder.parent


@pytest.fixture
def repository(tmp_path):
    """The same page as the authors' repository has it."""
    names = [*NAMES[:-1], f"{LAST}.png"]
    states(tmp_path / "input_data" / "images" / "7", names)
    paths = [f"./images/7/{name}" for name in names]
    line = {
        "id": "7",
        "prompt": PROMPT,
        "image_list": paths,
        "operation_info": operations(paths),
    }
    file = tmp_path / "input_data" / "images" / "data.jsonl"
    file.write_text(json.dumps(line, ensure_ascii=False) + "\n\n{broken\n")
    return tmp_path / "input_data"


def test_a_page_is_a_graph_of_interactions_with_their_steps(pages):
    (graph,) = read_dataset(pages)
    add, edit, save = graph.interactions
    assert graph.viewport == WINDOW  # its pictures are smaller
    assert (add.source, add.target, add.action) == ("0", "1", Action("click"))
    assert (named_in(add.sentence), add.tags) == ("添加", ("button",))
    assert '"' not in edit.sentence  # an icon does not show its name
    assert (save.source, save.target, save.action) == ("1", "4", Action("click"))
    assert [step.action for step in save.steps] == [
        Action("type", "张三"),
        Action("select", "二班"),
        Action("key", "ArrowUp ArrowUp"),
        Action("click"),
    ]
    assert [named_in(step.sentence) for step in save.steps[:3]] == ["例如：王-五", "班级", "评分"]
    assert graph.way_to(save) == (add,)
    assert [case.id for case in cases(pages)] == ["7/1", "7/2", "7/3"]
    assert cases(pages)[2].question.interaction.sentence.count(", then ") == 4


def test_the_authors_repository_gives_the_same_interactions(pages, repository):
    (ours,), (theirs, broken) = read_dataset(pages), read_dataset(repository)
    assert "is not JSON" in broken.error.message
    for one, other in zip(ours.interactions, theirs.interactions, strict=True):
        assert replace(other, source=one.source, target=one.target) == one
        assert theirs.screenshot(other.target).is_file()
    for folder in (pages, pages / "7", repository, repository / "images" / "data.jsonl"):
        assert resolve_dataset(str(folder))[0].name == "interaction2code"


def test_what_does_not_fit_is_named(pages):
    file = pages / "7" / "graph.json"
    content = json.loads(file.read_text())
    content["operations"][1]["end_image_path"] = "../../secret"
    file.write_text(json.dumps(content))
    found = {case.id: case for case in cases(pages)}
    assert isinstance(found["7/2"], BrokenCase)
    assert "has no picture '../../secret'" in found["7/2"].error.message
    file.write_text('{"nodes": [], "edges": []}')
    (broken,) = cases(pages)
    assert "no images or image_list and operations or operation_info" in broken.error.message
    assert "it has nodes, edges" in broken.error.message


def test_pages_of_several_models_are_variants(pages, tmp_path):
    outputs = tmp_path / "outputs"
    for model in ("gpt-4o_html", "o4-mini_html"):
        (outputs / model).mkdir(parents=True)
        (outputs / model / "7.html").write_text(f"<p>{model}")
    (outputs / "gpt-4o_results.jsonl").write_text('{"id": "7", "output": "<p>"}\n')
    (method,) = replayed(pages, outputs, ["o4-mini"])
    assert method.pages == {"7"}
    assert method.settings["folder"].endswith("o4-mini_html")
    with pytest.raises(UsageError) as caught:
        replayed(pages, outputs, [None])
    assert "gpt-4o, o4-mini" in caught.value.remedy
    for page in outputs.rglob("7.html"):
        page.rename(page.with_name("8.html"))
    with pytest.raises(UsageError, match="has the name of a page"):
        replayed(pages, outputs, [None])


def test_every_verdict_belongs_to_the_operation_of_its_task(pages):
    found = read_verdicts(read_dataset(pages), pages)
    assert [(one.page, one.interaction, one.works) for one in found.found] == [
        ("7", "1", True),
        ("7", "2", False),
        ("7", "3", True),
    ]
    result = CliRunner().invoke(app, ["anchors", str(pages)])
    assert result.exit_code == 0
    assert "66.7" in result.stdout


def test_verdicts_as_the_authors_program_writes_them(repository):
    folder = repository / "verify_results" / "Verify_o4-mini_html"
    folder.mkdir(parents=True)
    tasks = {task: {"task": task, "pass": works} for task, works in (*TASKS, ("别的", True))}
    (folder / "7__tasks.json").write_text(json.dumps({"results_per_task": tasks}))
    found = read_verdicts(read_dataset(repository), repository)
    assert [(one.model, one.interaction) for one in found.found] == [
        ("o4-mini", number) for number in "123"
    ]
    assert found.unmapped == 1
    assert CliRunner().invoke(app, ["anchors", str(repository)]).exit_code == 1


def test_every_published_verdict_is_mapped(shared_data):
    folder = shared_data / "data" / "webvia" / "pages"
    found = read_verdicts(read_dataset(folder), folder)
    assert (len(found.found), found.unmapped, len(found.models)) == (186, 0, 3)


# steps, on real pages

GUESTS = """<!doctype html><style>body { font: 20px sans-serif } label { display: block }</style>
<h2>Guests</h2>
<label>Name <input id="who"></label>
<label>City <select id="where"><option>Oslo<option>Rome</select></label>
<button onclick="row()">Save</button><ul id="list"></ul>
<script>function row() {
  const li = document.createElement('li')
  li.textContent = who.value + ' comes from ' + where.value
  list.append(li)
}</script>"""
STEPS = (
    Step(Action("type", "Martha"), 'type "Martha" into the "Name" field'),
    Step(Action("select", "Rome"), 'select "Rome" in the "City" list'),
)


@pytest.fixture(scope="module")
def guests(tmp_path_factory):
    """The page before, and after both fields were filled in and the button was clicked."""
    folder = tmp_path_factory.mktemp("guests") / "guests"
    with (
        closing(Renderer()) as renderer,
        renderer.stage(PageSource.from_html(GUESTS), (480, 320)) as stage,
    ):
        before = stage.screenshot()
        for step, selector in zip(STEPS, ("#who", "#where"), strict=True):
            assert stage.act(stage.find(selector), step.action) is None
        button = stage.find("button")
        assert stage.act(button, Action("click")) is None
        stage.settle()
        after = stage.screenshot()
    save = Interaction(
        *("1", "0", "1", Action("click"), 'click the "Save" button'),
        tags=("button",),
        trigger=button.box,
        steps=STEPS,
    )
    write_graph(Graph("guests", folder, (save,)), {"0": before, "1": after})
    return read_graph(folder)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    with closing(Interaction2CodeJudge(readings=tmp_path_factory.mktemp("readings"))) as one:
        yield one


def verdict(judge, graph, html):
    score = judge.score(
        case_of(graph, graph.interactions[0]), Answer(PageSource.from_html(html), "all")
    )
    return score.scores["usable"], score.details


def test_steps_are_kept_in_the_file(guests):
    assert guests.interactions[0].steps == STEPS
    content = json.loads((guests.folder / "action.json").read_text())
    content["1"]["steps"] = "fill in the form"
    (guests.folder / "action.json").write_text(json.dumps(content))
    try:
        with pytest.raises(InputError, match="`steps` is not a list of actions"):
            raise read_graph(guests.folder).broken["1"]
    finally:
        content["1"]["steps"] = [
            {"kind": step.action.kind, "value": step.action.value, "action": step.sentence}
            for step in STEPS
        ]
        (guests.folder / "action.json").write_text(json.dumps(content))


def test_all_steps_are_done_before_the_act_and_the_result_is_that_of_all(judge, guests):
    usable, details = verdict(judge, guests, GUESTS)
    assert usable, details["verdict"]["evidence"]
    assert details["steps"] == [step.sentence for step in STEPS]


def test_a_page_that_forgets_what_was_filled_in_is_not_usable(judge, guests):
    usable, details = verdict(judge, guests, GUESTS.replace("list.append(li)", "who.value = ''"))
    assert not usable, details["verdict"]["evidence"]


def test_the_field_of_a_step_is_the_one_that_follows_its_label():
    """All fields of a form are equally far from a label that stands between two of them."""
    rows = "".join(f"<div>{name}</div><input style='width: 400px'>" for name in ("A", "B", "C"))
    page = PageSource.from_html(f"<table><td>B<td>C</table>{rows}<button>Save</button>")
    with closing(Renderer()) as renderer, renderer.stage(page, (480, 320)) as stage:
        snapshot = stage.snapshot()
        fields = [one for one in snapshot.elements if one.tag == "input"]
        for name, field in zip("ABC", fields, strict=True):
            query = TriggerQuery("", Action("type", "x"), "all", None, (480, 320), name)
            assert find_trigger(stage, snapshot, query).element == field
