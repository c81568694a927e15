"""Components in files and in answers of models become pages."""

from __future__ import annotations

import json
import re

import pytest

from uiproof.benchmarks.page_files import generated_page
from uiproof.browser import PageSource
from uiproof.errors import NotHtmlAnswerError
from uiproof.models.answers import AS_COMPONENT, TRUNCATED, page_in
from uiproof.models.components import component_page
from uiproof.models.types import Finish, Reply

REACT = """import React, { useState } from "react";
import { Star } from 'lucide-react';
import { Button } from "@/components/ui/button";
import clsx from "clsx";
import type { Shape } from "./types";
import "./App.css";
const Card = () => <p>{"</script>"}</p>;
export default function App() { return <Card />; }
"""
VUE = """<template><p><template #x>in</template>{{ n }}</p></template>
<script setup lang="ts">
import { ref } from 'vue'
const n = ref<number>(1)
</script>
<style scoped>:deep(p) { color: red }</style>
"""


def given(html):
    (source,) = re.findall(r'id="component-source">(.*?)</script>', html, re.DOTALL)
    return json.loads(source)


def test_a_react_component_gets_react_babel_tailwind_and_what_it_imports():
    html, notes = component_page(REACT, "react")
    source = given(html)
    assert source["code"] == REACT
    assert source["globals"] == {"react": "React", "lucide-react": "LucideReact"}
    assert source["modules"] == ["clsx"]
    for part in (
        "cdn.tailwindcss.com",
        "react@18",
        "react-dom@18",
        "standalone@7",
        "lucide-react@",
    ):
        assert part in html
    assert html.count("</script>") == html.count("<script")
    assert notes == ("component", "component_imports_missing")


@pytest.mark.parametrize(
    ("code", "last", "mounts"),
    [
        ("const A = () => <p/>;\nfunction Page() { return <A/> }", "Page", False),
        ("function A() { return <p/> }\nexport default A", "", False),
        ("const App = () => <p/>;\nReactDOM.createRoot(x).render(<App/>)", "App", True),
    ],
)
def test_the_default_export_or_the_last_component_is_shown(code, last, mounts):
    source = given(component_page(code, "react")[0])
    assert (source["last"], source["mounts"]) == (last, mounts)


def test_a_vue_component_is_taken_apart():
    html, notes = component_page(VUE, "vue")
    source = given(html)
    assert source["template"] == "<p><template #x>in</template>{{ n }}</p>"
    assert "ref<number>(1)" in source["setup"]
    assert "<style>\np { color: red }" in html
    assert "vue@3" in html
    assert notes == ("component",)


def test_files_are_components_by_their_suffix_also_with_a_fence_around_the_code(tmp_path):
    (tmp_path / "1.jsx").write_text(REACT)
    (tmp_path / "2.tsx").write_text(f"Here it is:\n```tsx\n{REACT}```\nEnjoy.")
    for name in ("1.jsx", "2.tsx"):
        page = generated_page(PageSource.from_file(tmp_path / name))
        assert given(page.text)["code"] == REACT
        assert "component" in page.notes
        assert generated_page(page) == page  # never twice


def test_a_fenced_component_is_the_answer_unless_there_is_a_page():
    answer = f"Sure:\n```jsx\n{REACT}```\n```css\nbody {{ margin: 0 }}\n```"
    found = page_in(Reply(answer, Finish.STOP))
    assert found.flags == (AS_COMPONENT,)
    assert given(found.html)["code"] == REACT
    assert "body { margin: 0 }" in found.html
    assert TRUNCATED in page_in(Reply(answer[:300], Finish.LENGTH)).flags
    assert page_in(Reply(f"```vue\n{VUE}```", Finish.STOP)).flags == (AS_COMPONENT,)
    page = "<!DOCTYPE html><html><body>x</body></html>"
    assert page_in(Reply(f"```jsx\n{REACT}```\n```html\n{page}\n```", Finish.STOP)).html == page
    with pytest.raises(NotHtmlAnswerError):
        page_in(Reply("```js\nconsole.log(1 < 2)\n```", Finish.STOP))
