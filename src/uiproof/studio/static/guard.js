"use strict";
// Runs inside a generated page before all of its own scripts. It switches off what no policy of the
// browser reaches, and stands in for what pages expect but a sandbox takes away, so that they work
// as they did when they were scored. It talks to nobody outside of the page.
(() => {
  document.currentScript.remove();
  if (window.parent === window) { // opened by itself, where the studio's frame does not hold it
    document.documentElement.replaceChildren();
    window.stop();
    return;
  }
  const define = (object, name, value) => {
    try { Object.defineProperty(object, name, { value, configurable: true, writable: true }); } catch { /* cannot be changed */ }
  };

  // Calls go out over UDP, which no policy stops.
  for (const name of Object.getOwnPropertyNames(window)) {
    if (/^(webkit)?RTC|^WebTransport|^Worker$|^SharedWorker$/.test(name)) delete window[name];
  }

  // A frame inside would have all of that again. Its document comes later than this is told of it.
  const FRAMES = "iframe, frame, frameset, object, embed, portal, fencedframe";
  const told = new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (node.nodeType !== 1) continue;
        for (const frame of [...(node.matches(FRAMES) ? [node] : []), ...node.querySelectorAll(FRAMES)]) frame.remove();
      }
    }
  });
  const watch = (root) => told.observe(root, { childList: true, subtree: true });
  watch(document);
  const attach = Element.prototype.attachShadow;
  define(Element.prototype, "attachShadow", function attachShadow(options) {
    const root = attach.call(this, options);
    watch(root);
    return root;
  });
  delete Element.prototype.setHTMLUnsafe;
  delete ShadowRoot.prototype.setHTMLUnsafe;
  delete Document.parseHTMLUnsafe;
  for (const name of ["write", "writeln"]) {
    const plain = Document.prototype[name];
    define(Document.prototype, name, function write(...texts) {
      return plain.apply(this, texts.map((text) => String(text).replace(/shadowrootmode/gi, "data-shadow")));
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

  // Dialogs would stop the studio; what they say is shown in the page instead.
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

  // Forms and links to elsewhere lead nowhere, and the page stays, as it did when it was scored.
  // Left to the browser, the page would make room for a message that something was blocked.
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
