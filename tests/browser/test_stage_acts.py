"""Every kind of action on a staged page, and every reason why one is not possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from uiproof.browser import PageSource, Renderer, Stage
from uiproof.browser.input import parse_keys, parse_offset
from uiproof.browser.snapshots import Action

Act = Callable[[str, str, Action], str]


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    with Renderer() as renderer:
        yield renderer


def said(stage: Stage) -> str:
    """Return the text that the page wrote into its #out."""
    out = stage.find("#out")
    assert out is not None
    return out.text


@pytest.fixture(scope="module")
def act(renderer: Renderer) -> Act:
    """Do one thing on a page of its own; what came of it is in #out, else the reason."""

    def do(body: str, selector: str, action: Action) -> str:
        with renderer.stage(
            PageSource.from_html(
                "<!DOCTYPE html><style>body{margin:0;font:16px sans-serif}</style>"
                "<script>const say = (...w) => { out.textContent += w.join(' ') + ';' }</script>"
                f"<div id=out style=height:20px></div>{body}"
            )
        ) as stage:
            element = stage.find(selector)
            assert element is not None
            problem = stage.act(element, action)
            stage.settle()
            return problem or said(stage)

    return do


BUTTON = '<button id="x" onclick="say(\'clicked\', event.isTrusted)">Go</button>'


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (BUTTON, "clicked true;"),
        (f'<div style="height:3000px"></div>{BUTTON}', "clicked true;"),
        (
            '<div style="height:80px;overflow:auto"><div style="height:900px"></div>'
            f'<div style="width:5000px;text-align:right">{BUTTON}</div></div>',
            "clicked true;",
        ),
        ('<button id="x" disabled onclick="say(1)">Go</button>', "it is disabled"),
        ('<button id="x" style="display:none">Go</button>', "it is not visible"),
        (
            f'{BUTTON}<div id="veil" style="position:fixed;inset:0"></div>',
            'it is covered by <div id="veil">',
        ),
        # half of it is covered: the other half does
        (
            '<div id="x" style="width:100px;height:40px" onclick="say(\'clicked\')">Go</div>'
            '<div style="position:absolute;left:20px;top:0;width:70px;height:80px"></div>',
            "clicked;",
        ),
        # a header that stays on top covers what scrolling brings just into view
        (
            '<div style="position:fixed;top:0;width:100%;height:100px;background:red"></div>'
            f'<div style="height:2000px"></div>{BUTTON}<div style="height:2000px"></div>'
            "<script>scrollTo(0, 4000)</script>",
            "clicked true;",
        ),
        # a field that hides behind its label
        (
            '<label><input id="x" type="checkbox" style="display:none" '
            "onchange=\"say('checked', x.checked)\">Terms</label>",
            "checked true;",
        ),
        (
            '<input id="x" type="checkbox" style="opacity:0;position:absolute" '
            "onchange=\"say('checked', x.checked)\"><label for=x>Terms</label>",
            "checked true;",
        ),
        # a link over two lines, whose middle is not in it
        (
            '<p style="width:260px"><span style="margin-left:180px"></span>'
            '<a id="x" href="#there" onclick="say(\'clicked\')">two words</a> and more of them',
            "clicked;",
        ),
        (
            "<script>document.body.onclick = (e) => say('body', e.target.id)</script>"
            '<details><summary id="x">More</summary>text</details>',
            "body x;",
        ),
        (
            '<div id="host"></div><script>host.attachShadow({mode: "open"}).innerHTML = '
            '\'<button id="x" onclick="say(1)">Go</button>\'</script>',
            "1;",
        ),
        (
            '<iframe srcdoc="<button id=x onclick=parent.out.textContent=1>Go</button>"></iframe>',
            "1",
        ),
    ],
    ids=[
        *("plain", "below", "in a scroller", "disabled", "hidden", "covered", "half covered"),
        *("under a header", "behind its label", "unseen checkbox", "two lines", "summary"),
        *("shadow", "frame"),
    ],
)
def test_click_reaches_what_a_person_could_click(act: Act, body: str, result: str) -> None:
    assert act(body, "#x", Action("click")) == result


def test_hover_enters_from_outside_and_stays(act: Act) -> None:
    body = (
        '<div id="x" style="width:80px;height:30px" onmouseenter="say(\'in\')" '
        "onmouseleave=\"say('out')\" onmousemove=\"this.title='moved'\">menu</div>"
    )
    assert act(body, "#x", Action("hover")) == "in;"


@pytest.mark.parametrize(
    ("body", "value", "result"),
    [
        ('<input id="x" value="old" oninput="out.textContent = x.value">', "new", "new"),
        ('<input id="x" oninput="out.textContent = x.value">', None, "Hello"),
        ('<input id="x" type="email" oninput="out.textContent=x.value">', None, "name@example.com"),
        ('<textarea id="x" onkeydown="say(event.key)"></textarea>', "ab", "a;b;"),
        ('<input id="x" onchange="say(x.value)">', "q", "q;"),
        ('<input id="x" value="q" oninput="say(x.value.length)">', "", "0;"),
        ('<input id="x" type="date" onchange="say(x.value)">', "2024-02-29", "2024-02-29;"),
        ('<input id="x" type="color" oninput="say(x.value)">', "#102030", "#102030;"),
        ('<div id="x" contenteditable oninput="out.textContent = x.innerText">a</div>', "b", "b"),
        ('<label id="x">Name <input oninput="out.textContent=this.value"></label>', "Ann", "Ann"),
        ('<input id="x" readonly value="v">', "new", "it is read-only"),
        ('<p id="x">text</p>', "new", "it cannot be typed into"),
        (
            '<form onsubmit="say(\'sent\', q.value); return false"><input id="x" name="q"></form>'
            "<script>const q = x</script>",
            "cats\n",
            "sent cats;",
        ),
        (
            '<button id="x" onclick="f.hidden = false; f.focus()">find</button>'
            '<input id="f" hidden oninput="out.textContent = f.value">',
            "abc",
            "abc",
        ),
    ],
)
def test_type_replaces_what_is_there_key_by_key(
    act: Act, body: str, value: str | None, result: str
) -> None:
    assert act(body, "#x", Action("type", value)) == result


def test_time_passes_from_key_to_key(act: Act) -> None:
    body = """<input id="x"><script>let last = 0; const gaps = [];
      x.oninput = () => { gaps.push(Math.round(performance.now() - last)); last = performance.now();
        out.textContent = gaps.slice(1).every((gap) => gap >= 50 && gap < 200) }</script>"""
    assert act(body, "#x", Action("type", "abcd")) == "true"


LIST = (
    '<select id="x" onchange="say(x.value)"><option value="a">Apple<option value="b">Big pear'
    '<option value="c" disabled>Cherry<option value="d">Date</select>'
)
VEILED = 'it is covered by <i id="veil">'
OWN_LIST = """<div id="x" onclick="menu.hidden = !menu.hidden">Choose</div>
<ul id="menu" hidden><li onclick="say('first')">Red</li>
<li onclick="say('second')">Blue</li></ul>"""


@pytest.mark.parametrize(
    ("body", "value", "result"),
    [
        (LIST, "Date", "d;"),
        (LIST, "big  PEAR", "b;"),
        (LIST, "d", "d;"),
        (LIST, "pear", "b;"),
        (LIST, "3", "d;"),
        (LIST, None, "b;"),
        (LIST, "Cherry", "it has no option 'Cherry'"),
        (LIST, "Kiwi", "it has no option 'Kiwi'"),
        (LIST + '<i id="veil" style="position:fixed;inset:0"></i>', "d", VEILED),
        (OWN_LIST, "Blue", "second;"),
        (OWN_LIST, "Green", "it has no option 'Green'"),
        (
            '<input id="x" list="l" oninput="out.textContent = x.value">'
            '<datalist id="l"><option>One<option>Two</datalist>',
            "Two",
            "Two",
        ),
    ],
)
def test_select_chooses_by_label_value_or_number(
    act: Act, body: str, value: str | None, result: str
) -> None:
    assert act(body, "#x", Action("select", value)) == result


BOX = """<div id="x" style="position:absolute;left:50px;top:50px;width:40px;height:40px"></div>
<script>
  let from = null;
  x.onpointerdown = (e) => { from = [e.clientX, e.clientY] };
  window.onpointerup = (e) => from && say(e.clientX - from[0], e.clientY - from[1]);
</script>"""
CARDS = """<div id="x" draggable="true" style="width:60px;height:30px"
  ondragstart="event.dataTransfer.setData('text/plain', 'card')">card</div>
<div style="position:absolute;left:200px;top:0;width:99px;height:99px"
  ondragover="event.preventDefault()"
  ondrop="say('got', event.dataTransfer.getData('text/plain'))"></div>"""


@pytest.mark.parametrize(
    ("body", "value", "result"),
    [
        (BOX, "30,-10", "30 -10;"),
        (BOX, "25", "25 0;"),
        (BOX, "down 20", "0 20;"),
        (BOX, None, "20 0;"),
        (BOX, "somewhere", "it is not clear how far to drag: 'somewhere'"),
        ('<input id="x" type="range" onchange="say(x.value)">', None, "75;"),
        ('<input id="x" type="range" value="90" onchange="say(x.value)">', None, "75;"),
        (CARDS, "200, 10", "got card;"),
        (
            '<input id="x" type="range" value="0" style="width:216px" onchange="say(x.value)">',
            "50,0",
            "75;",
        ),
    ],
)
def test_drag_presses_moves_and_lets_go(
    act: Act, body: str, value: str | None, result: str
) -> None:
    assert act(body, "#x", Action("drag", value)) == result


@pytest.mark.parametrize(
    ("selector", "value", "page", "inner"),
    [
        ("html", None, 720, 0),
        ("html", "0,300", 300, 0),
        ("html", "120", 120, 0),
        ("html", "bottom", 4080, 0),
        ("#x", None, 0, 100),
        ("#x", "down 40", 0, 40),
    ],
)
def test_scroll_turns_the_wheel_over_the_element(
    renderer: Renderer, selector: str, value: str | None, page: int, inner: int
) -> None:
    html = """<!DOCTYPE html><body style="margin:0">
    <div id="out">0</div><div id="x" style="height:100px;overflow-y:auto"
      onscroll="out.textContent = x.scrollTop"><div style="height:1000px">long</div></div>
    <div style="position:absolute;top:4700px;height:100px;width:9px"></div>"""
    with renderer.stage(PageSource.from_html(html)) as stage:
        element = stage.find(selector)
        assert element is not None
        assert stage.act(element, Action("scroll", value)) is None
        stage.settle()
        assert (stage.snapshot().scroll[1], int(said(stage))) == (page, inner)


HEARS_KEYS = '<p id="x">p</p><script>onkeydown = (e) => say(e.key)</script>'
CONTROL_K = "Control true;k true;"


@pytest.mark.parametrize(
    ("body", "value", "result"),
    [
        (BUTTON, None, "clicked true;"),
        ('<input id="x" onkeydown="say(event.key, event.ctrlKey)">', "ctrl+k", CONTROL_K),
        (HEARS_KEYS, "esc", "Escape;"),
        (HEARS_KEYS, "down Tab", "ArrowDown;Tab;"),
        ('<button id="x" onclick="say(1)" onfocus="say(\'focus\')">b</button>', "a", "focus;"),
        (BUTTON, "NoSuchKey", "there is no key 'NoSuchKey'"),
        ('<button id="x" disabled>b</button>', "Enter", "it is disabled"),
    ],
)
def test_key_gives_the_focus_without_clicking_and_presses(
    act: Act, body: str, value: str | None, result: str
) -> None:
    assert act(body, "#x", Action("key", value)) == result


def test_a_point_of_the_page_can_be_acted_on_also_below_the_window(renderer: Renderer) -> None:
    html = f'<!DOCTYPE html><div style="height:2000px"></div><div id="out"></div>{BUTTON}'
    html = html.replace("say('clicked', event.isTrusted)", "out.textContent = 'yes'")
    with renderer.stage(PageSource.from_html(html)) as stage:
        button = stage.find("#x")
        assert button is not None
        point = (button.box.left + 10.0, button.box.top + 10.0)
        found = stage.at(*point)
        assert found is not None
        assert found.id == "x"
        assert stage.act(point, Action("click")) is None
        stage.settle()
        assert said(stage) == "yes"
        assert stage.act((5.0, 90_000.0), Action("click")) == "it lies outside of the page"


def test_an_element_that_is_gone_is_no_longer_on_the_page(renderer: Renderer) -> None:
    html = '<!DOCTYPE html><div id="out"></div><button id="x" onclick="this.remove()">x</button>'
    with renderer.stage(PageSource.from_html(html)) as stage:
        button = stage.find("#x")
        assert button is not None
        assert stage.act(button, Action("click")) is None
        stage.settle()
        assert stage.find("#x") is None
        for kind in ("click", "hover", "key", "type", "select"):
            assert stage.act(button, Action(kind)) == "it is no longer on the page"  # type: ignore[arg-type]


def test_a_click_meets_its_element_although_a_menu_that_was_open_closes(renderer: Renderer) -> None:
    html = """<!DOCTYPE html>
    <style>#m ul { display: none; height: 200px } #m:hover ul { display: block }</style>
    <div id="m">menu<ul><li>item</ul></div><button id="x" onclick="out.textContent='ok'">x</button>
    <div id="out"></div>"""
    with renderer.stage(PageSource.from_html(html)) as stage:
        for selector, kind in (("#m", "hover"), ("#x", "click")):
            element = stage.find(selector)
            assert element is not None
            assert stage.act(element, Action(kind)) is None  # type: ignore[arg-type]
            stage.settle()
        assert said(stage) == "ok"


def test_ways_and_keys_are_read_leniently() -> None:
    size = (200.0, 100.0)
    for value, way in {
        "30,-5": (30, -5),
        "[30, -5]": (30, -5),
        "30px 5px": (30, 5),
        "x=3, y=4": (3, 4),
        "12.5": (12.5, 0),
        "left": (-200, 0),
        "up 40": (0, -40),
        "50%": (100, 0),
        "to the right by 10": (10, 0),
        "scroll to the bottom": (0, 1_000_000),
    }.items():
        assert parse_offset(value, size) == way, value
    assert parse_offset("", size) is None
    assert parse_keys("Ctrl + Shift + p") == ["Control+Shift+p"]
    assert parse_keys("page-down") == ["PageDown"]
    assert parse_keys(" ") == [" "]


def test_a_button_is_pressed_as_long_as_a_finger_stays_on_it_after_some_moves(renderer):
    body = """<button id=b>Press</button><p id=p></p><p id=q></p><script>
      let [moves, pressed] = [0, 0];
      b.onmousemove = () => moves++;
      b.onmousedown = () => { pressed = performance.now() };
      b.onmouseup = () => { p.textContent = `${moves} ${performance.now() - pressed}`; moves = 0 };
      b.addEventListener("mousemove", () => { q.textContent = moves });
    </script>"""
    with renderer.stage(PageSource.from_html(body), (1280, 720)) as stage:
        stage.act(stage.find("#b"), Action("click"))
        stage.settle()
        before, milliseconds = stage.find("#p").text.split()
        after = stage.find("#q").text
    assert int(before) >= 3
    assert 50 <= float(milliseconds) <= 200
    assert int(after) >= 1  # an effect that the next movement undoes is not left


@pytest.mark.parametrize(
    ("tab", "why"), [(-1, "it is out of reach of pointer and keyboard"), (0, None)]
)
def test_no_option_of_an_unreachable_list_is_chosen(renderer, tab, why):
    body = f"""<select id=s tabindex={tab} style="pointer-events: none">
      <option>one<option>two</select>"""
    with renderer.stage(PageSource.from_html(body), (1280, 720)) as stage:
        assert stage.act(stage.find("#s"), Action("select", "two")) == why
