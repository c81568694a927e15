"use strict";
// Runs inside a generated page before all of its own scripts. It disables what no browser policy
// stops, and replaces what a sandbox takes away, so that pages work as they did when they were
// scored. It communicates with nothing outside of the page.
(() => {
  document.currentScript.remove();
  if (window.parent === window) { // opened by itself, where the studio's frame does not hold it
    document.documentElement.replaceChildren();
    window.stop();
    return;
  }
  // A page may replace every method that it can reach, so this script keeps the ones it needs:
  // `uncurried(method)(object, …)` calls what was there when the page began.
  const uncurried = Function.prototype.bind.bind(Function.prototype.call);
  const getter = (type, name) => uncurried(Object.getOwnPropertyDescriptor(type.prototype, name).get);
  const { apply, ownKeys, deleteProperty, defineProperty } = Reflect;
  const define = (object, name, value) => {
    try { defineProperty(object, name, { value, configurable: true, writable: true }); } catch { /* cannot be changed */ }
  };

  // WebRTC uses UDP, which no policy stops; XSLT makes documents with roots that scripts cannot see.
  for (const name of ownKeys(window)) {
    if (/^(webkit)?RTC|^WebTransport|^Worker$|^SharedWorker$|^XSLTProcessor$/.test(String(name))) deleteProperty(window, name);
  }

  // A nested frame would have all of that again. Its document loads after this observer is notified.
  const FRAMES = "iframe, frame, frameset, object, embed, portal, fencedframe";
  const matches = uncurried(Element.prototype.matches), remove = uncurried(Element.prototype.remove);
  const findAll = uncurried(Element.prototype.querySelectorAll);
  const kindOf = getter(Node, "nodeType"), addedTo = getter(MutationRecord, "addedNodes"), lengthOf = getter(NodeList, "length");
  const observer = new MutationObserver((changes) => {
    for (let change = 0; change < changes.length; change++) {
      const added = addedTo(changes[change]);
      for (let place = 0; place < lengthOf(added); place++) {
        const node = added[place];
        if (kindOf(node) !== 1) continue;
        const inside = findAll(node, FRAMES);
        if (matches(node, FRAMES)) remove(node);
        for (let frame = 0; frame < lengthOf(inside); frame++) remove(inside[frame]);
      }
    }
  });
  const observe = uncurried(MutationObserver.prototype.observe);
  // No prototype: what a page adds to all objects would be taken for an option.
  const OPTIONS = { __proto__: null, childList: true, subtree: true };
  const watch = (root) => observe(observer, root, OPTIONS);
  watch(document);

  // Closed shadow roots would hide frames: all roots are made by this method, neither by copying one
  // nor by the parser.
  const attach = uncurried(Element.prototype.attachShadow);
  define(Element.prototype, "attachShadow", function attachShadow(options) {
    const { mode, delegatesFocus, slotAssignment, serializable } = options ?? {};
    const wanted = { __proto__: null, mode };
    if (delegatesFocus !== undefined) wanted.delegatesFocus = delegatesFocus;
    if (slotAssignment !== undefined) wanted.slotAssignment = slotAssignment;
    if (serializable !== undefined) wanted.serializable = serializable;
    const root = attach(this, wanted);
    watch(root);
    return root;
  });
  for (const type of [Element, ShadowRoot, DocumentFragment, Document, Range]) {
    for (const object of [type, type.prototype]) {
      for (const name of ownKeys(object)) if (/HTMLUnsafe$|^parseHTML$|^stream/.test(String(name))) deleteProperty(object, name);
    }
  }
  const NAME = "shadowrootmode", UPPER = "SHADOWROOTMODE";
  const slice = uncurried(String.prototype.slice);
  // The parser reads what is written in one piece with what follows, so a name that only begins at
  // the end of a text is broken, too: by a character reference, which is the same letter in a text.
  const disarmed = (text) => {
    let out = "", from = 0;
    for (let at = 0; at < text.length; at++) {
      let same = 0;
      while (same < NAME.length && (text[at + same] === NAME[same] || text[at + same] === UPPER[same])) same++;
      if (same === NAME.length) {
        out += slice(text, from, at) + "data-shadow";
        from = at + same;
      } else if (same > 0 && at + same === text.length) {
        out += slice(text, from, at) + (text[at] === "s" ? "&#115;" : "&#83;");
        from = at + 1;
      }
    }
    return out + slice(text, from);
  };
  for (const name of ["write", "writeln"]) {
    const plain = Document.prototype[name];
    define(Document.prototype, name, function write() {
      let text = "";
      for (let place = 0; place < arguments.length; place++) text += `${arguments[place]}`;
      return apply(plain, this, [disarmed(text)]);
    });
  }

  // Storage that lasts as long as the page is shown.
  const storage = () => {
    const kept = new Map();
    const own = {
      getItem: (name) => (kept.has(String(name)) ? kept.get(String(name)) : null),
      setItem: (name, value) => { kept.set(String(name), String(value)); },
      removeItem: (name) => { kept.delete(String(name)); },
      clear: () => { kept.clear(); },
      key: (number) => [...kept.keys()][number] ?? null,
    };
    return new Proxy(own, {
      get: (_, name) => (name === "length" ? kept.size : name in own ? own[name] : kept.get(name)),
      set: (_, name, value) => { own.setItem(name, value); return true; },
      deleteProperty: (_, name) => { own.removeItem(name); return true; },
    });
  };
  define(window, "localStorage", storage());
  define(window, "sessionStorage", storage());
  define(document, "cookie", "");
  for (const name of ["pushState", "replaceState"]) {
    const plain = History.prototype[name];
    define(History.prototype, name, function change(state, unused) { return plain.call(this, state, unused); });
  }

  // Dialogs would block the studio; their text is shown in the page instead.
  let note;
  const say = (text) => {
    if (note === undefined) {
      note = document.createElement("output");
      note.setAttribute("style", "all:initial;position:fixed;z-index:2147483647;left:50%;bottom:32px;transform:translateX(-50%);max-width:80%;padding:16px 24px;border-radius:12px;background:#1b1d21;color:#fff;font:20px/1.4 system-ui,sans-serif;box-shadow:0 8px 32px #0006");
      note.addEventListener("click", () => note.remove());
    }
    note.textContent = `Dialog: ${text}`;
    (document.body ?? document.documentElement).append(note);
  };
  define(window, "alert", (text = "") => { say(text); });
  define(window, "confirm", (text = "") => { say(text); return true; });
  define(window, "prompt", (text = "", given = "") => { say(text); return String(given); });
  define(window, "print", () => { say("print this page"); });

  // Forms and external links do nothing, and the page stays, as it did when it was scored.
  // The browser would replace the page by a message that something was blocked.
  define(HTMLFormElement.prototype, "submit", function submit() {});
  window.addEventListener("submit", (event) => { event.preventDefault(); });
  const own = location.pathname.slice(0, location.pathname.lastIndexOf("/") + 1);
  window.addEventListener("click", (event) => {
    const link = event.composedPath().find((node) => node.localName === "a" && node.href);
    if (!link || event.defaultPrevented) return;
    const target = new URL(String(link.href.baseVal ?? link.href), location.href);
    if (target.protocol === "javascript:") return;
    if (target.origin !== new URL(location.href).origin || !target.pathname.startsWith(own)) event.preventDefault();
  });
})();
