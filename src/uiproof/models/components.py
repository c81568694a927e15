"""A single-file component as a page: React (`.jsx`, `.tsx`) or Vue (`.vue`), compiled in the page.

The page loads React 18 or Vue 3, Babel and Tailwind from the addresses at which pages usually have
them; the browser answers those from frozen copies.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import quote

Kind = Literal["react", "vue"]

COMPONENT = "component"  # note: the page was made of a component
IMPORTS_MISSING = "component_imports_missing"  # note: it imports files that are not there
SUFFIXES: dict[str, Kind] = {".jsx": "react", ".tsx": "react", ".vue": "vue"}

_TAILWIND = "https://cdn.tailwindcss.com"
_BABEL = "https://unpkg.com/@babel/standalone@7.28.5/babel.min.js"
_VUE = "https://unpkg.com/vue@3.5.26/dist/vue.global.prod.js"
_REACT = (
    "https://unpkg.com/react@18.3.1/umd/react.production.min.js",
    "https://unpkg.com/react-dom@18.3.1/umd/react-dom.production.min.js",
)


@dataclass(frozen=True, slots=True)
class _Package:
    """A package with a build for script tags: the global that it makes, and its files in order."""

    name: str
    scripts: tuple[str, ...] = ()


_UNPKG = "https://unpkg.com/"
_ROUTER = (
    f"{_UNPKG}@remix-run/router@1.23.1/dist/router.umd.min.js",
    f"{_UNPKG}react-router@6.30.2/dist/umd/react-router.production.min.js",
    f"{_UNPKG}react-router-dom@6.30.2/dist/umd/react-router-dom.production.min.js",
)
_PROP_TYPES = f"{_UNPKG}prop-types@15.8.1/prop-types.min.js"
_REACT_IS = f"{_UNPKG}react-is@18.3.1/umd/react-is.production.min.js"
_MOTION = _Package("Motion", (f"{_UNPKG}framer-motion@11.18.2/dist/framer-motion.js",))
_PACKAGES = {
    "react": _Package("React"),
    "react-dom": _Package("ReactDOM"),
    "react-dom/client": _Package("ReactDOM"),
    "vue": _Package("Vue"),
    "vue-router": _Package(
        "VueRouter", (f"{_UNPKG}vue-router@4.6.4/dist/vue-router.global.prod.js",)
    ),
    "lucide-react": _Package(
        "LucideReact", (f"{_UNPKG}lucide-react@0.562.0/dist/umd/lucide-react.min.js",)
    ),
    "prop-types": _Package("PropTypes", (_PROP_TYPES,)),
    "recharts": _Package(
        "Recharts", (_PROP_TYPES, _REACT_IS, f"{_UNPKG}recharts@2.15.4/umd/Recharts.js")
    ),
    "framer-motion": _MOTION,
    "motion/react": _MOTION,
    "react-router-dom": _Package("ReactRouterDOM", _ROUTER),
    "axios": _Package("axios", (f"{_UNPKG}axios@1.13.2/dist/axios.min.js",)),
    "dayjs": _Package("dayjs", (f"{_UNPKG}dayjs@1.11.19/dayjs.min.js",)),
    "d3": _Package("d3", (f"{_UNPKG}d3@7.9.0/dist/d3.min.js",)),
    "lodash": _Package("_", (f"{_UNPKG}lodash@4.17.21/lodash.min.js",)),
}
# Names that React's own modules export, for modules that import them from the page's instance.
_SHARED = {"react": "React", "react-dom": "ReactDOM", "vue": "Vue"}

# Code may be hostile and megabytes long: no pattern may look ahead without a bound.
_IMPORT = re.compile(
    r"""(?:^|[;\n])[ \t]*(?:import|export)\b(?P<type>\s{1,9}type\b)?"""
    r"""(?:(?!\b(?:im|ex)port\b)[^'";]){0,2000}?\bfrom\s{0,9}["']([^"'\n]{1,200})["']"""
    r"""|(?:^|[;\n])[ \t]*import\s{0,9}["']([^"'\n]{1,200})["']"""
    r"""|\b(?:require|import)\(\s{0,9}["']([^"'\n]{1,200})["']\s{0,9}\)"""
)
_DECLARED = re.compile(
    r"^(?:export +)?(?:async +)?(?:function|class|const|let|var) +([A-Z]\w{0,99})", re.MULTILINE
)
_DEFAULT = re.compile(
    r"^[ \t]*export\s{1,9}default\b|\bexport\s{0,9}\{[^}]{0,2000}\bas\s{1,9}default\b", re.MULTILINE
)
_MOUNTS = re.compile(r"\b(?:createRoot|hydrateRoot)\(|\bReactDOM\.render\(")
_STYLES = re.compile(r"\.(?:css|scss|sass|less)$")
_OPENING = re.compile(r"<(script|style)\b([^>]{0,500})>", re.IGNORECASE)
_TEMPLATE = re.compile(r"<template\b[^>]{0,500}>", re.IGNORECASE)
_DEEP = re.compile(r":(?:deep|slotted|global)\(([^()]{0,500})\)")


def component_page(code: str, kind: Kind, *, styles: str = "") -> tuple[str, tuple[str, ...]]:
    """Return the HTML of a page that shows a component, and what was unusual about it.

    The component is the default export, else the last one that the file declares; code that mounts
    itself into `#root` is left to do so. `styles` is CSS that belongs to it.
    """
    parts = _vue_parts(code) if kind == "vue" else _react_parts(code)
    imports = _imports(code)
    packages = [name for name in imports if name in _PACKAGES]
    others = [name for name in imports if name not in _PACKAGES and _is_package(name)]
    own = (_TAILWIND, *((_VUE,) if kind == "vue" else _REACT))
    scripts = dict.fromkeys(one for name in packages for one in _PACKAGES[name].scripts)
    given = {
        "kind": kind,
        "globals": {name: _PACKAGES[name].name for name in packages},
        "modules": others,
        **{name: value for name, value in parts.items() if name != "styles"},
    }
    css = "\n".join(filter(None, (styles, parts.get("styles")))).replace("</style", "")
    shared = {name: _module_of(name, one) for name, one in _SHARED.items()} if others else {}
    html = "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            *(
                [f'<script type="importmap">{_json({"imports": shared})}</script>']
                if shared
                else ()
            ),
            *map(_script, own),
            # lucide-react looks for React under this name.
            "<script>globalThis.react = globalThis.React</script>",
            *map(_script, (*scripts, _BABEL)),
            *([f"<style>\n{css}\n</style>"] if css else ()),
            '</head><body><div id="root"></div>',
            f'<script type="application/json" id="component-source">{_json(given)}</script>',
            f"<script>{_runtime()}</script>",
            "</body></html>",
        ]
    )
    absent = [name for name in imports if not _is_package(name) and not _STYLES.search(name)]
    return html, (COMPONENT, *((IMPORTS_MISSING,) if absent else ()))


def looks_like_component(code: str, kind: Kind) -> bool:
    """Return whether code declares something that can be shown."""
    if kind == "vue":
        return _TEMPLATE.search(code) is not None and "</template" in code.lower()
    return "<" in code and bool(_DEFAULT.search(code) or _DECLARED.search(code))


def _react_parts(code: str) -> dict[str, Any]:
    declared = _DECLARED.findall(code)
    return {
        "code": code,
        "last": declared[-1] if declared and not _DEFAULT.search(code) else "",
        "mounts": bool(_MOUNTS.search(code)),
    }


def _vue_parts(code: str) -> dict[str, Any]:
    parts: dict[str, Any] = {"template": "", "styles": ""}
    opening, end = _TEMPLATE.search(code), code.lower().rfind("</template")
    if opening is not None and end >= opening.end():
        parts["template"] = code[opening.end() : end]
        code = code[: opening.start()] + code[end + len("</template>") :]
    lower, at = code.lower(), 0
    while block := _OPENING.search(code, at):
        end = lower.find(f"</{block[1].lower()}", block.end())
        if end < 0:
            break
        content, at = code[block.end() : end], end
        if block[1].lower() == "style":
            parts["styles"] += _DEEP.sub(r"\1", content) + "\n"
        else:
            parts["setup" if re.search(r"\bsetup\b", block[2]) else "script"] = content
    return parts


def _imports(code: str) -> list[str]:
    found = (one or other or third for kind, one, other, third in _IMPORT.findall(code) if not kind)
    return list(dict.fromkeys(found))


def _is_package(name: str) -> bool:
    return not name.startswith((".", "/", "@/", "~/", "http:", "https:"))


def _script(address: str) -> str:
    return f'<script src="{escape(address)}"></script>'


def _module_of(name: str, variable: str) -> str:
    """Return the address of a module that passes on the instance that the page has of a package."""
    names = _EXPORTS[name]
    text = f"const m=globalThis.{variable}??{{}};export default m;export const {{{names}}}=m;"
    return f"data:text/javascript,{quote(text)}"


_EXPORTS = {
    "react": "Children,Component,Fragment,PureComponent,StrictMode,Suspense,cloneElement,"
    "createContext,createElement,createRef,forwardRef,isValidElement,lazy,memo,startTransition,"
    "useCallback,useContext,useDebugValue,useDeferredValue,useEffect,useId,useImperativeHandle,"
    "useInsertionEffect,useLayoutEffect,useMemo,useReducer,useRef,useState,useSyncExternalStore,"
    "useTransition,version",
    "react-dom": "createPortal,createRoot,findDOMNode,flushSync,hydrateRoot,render,"
    "unmountComponentAtNode,unstable_batchedUpdates,version",
    "vue": "Fragment,Teleport,Transition,TransitionGroup,computed,createApp,createBlock,"
    "createElementBlock,createElementVNode,createVNode,defineComponent,getCurrentInstance,h,inject,"
    "isRef,markRaw,mergeProps,nextTick,normalizeClass,normalizeStyle,onBeforeUnmount,onMounted,"
    "onUnmounted,onUpdated,openBlock,provide,reactive,readonly,ref,renderList,renderSlot,"
    "resolveComponent,shallowRef,toDisplayString,toRef,toRefs,toValue,unref,useAttrs,useSlots,"
    "version,watch,watchEffect,withCtx,withDirectives,withModifiers",
}


def _json(value: Any) -> str:
    """Return JSON that cannot end the script element that it is in."""
    return json.dumps(value).replace("<", "\\u003c")


@cache
def _runtime() -> str:
    text = (files("uiproof.models") / "js" / "component.js").read_text("utf-8")
    return re.sub(r"^//.*\n", "", text, flags=re.MULTILINE)
