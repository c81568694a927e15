// Runs before any script of a staged page, in every frame: what would open a dialog or a window is
// told to us and goes no further. The sandbox of the document refuses the real ones, so a page that
// finds a way around these only loses the record.
(() => {
  const MOST = 60; // of what one document may tell
  const tell = globalThis.uiproofTell;
  delete globalThis.uiproofTell;
  const { stringify } = JSON;
  const cut = Function.prototype.call.bind(String.prototype.slice); // pages may replace it
  let left = MOST;
  const record = (kind, text) => {
    if (typeof tell === "function" && left-- > 0) tell(stringify([kind, cut(`${text}`, 0, 300)]));
  };

  // Nobody reads what a page writes there, and millions of lines would only take time.
  for (const name of Object.keys(console)) {
    if (typeof console[name] === "function") console[name] = () => {};
  }

  window.alert = (message = "") => record("alert", message);
  window.confirm = (message = "") => {
    record("confirm", message);
    return false;
  };
  window.prompt = (message = "") => {
    record("prompt", message);
    return null;
  };
  window.print = () => record("print", "");

  // What a page does with a window that it believes to have opened must not make it stumble.
  const nothing = new Proxy(function () {}, {
    get: (_, name) => {
      if (name === "closed") return true;
      if (name === Symbol.toPrimitive) return () => "";
      return name === "then" ? undefined : nothing;
    },
    set: () => true,
    apply: () => nothing,
  });
  const open = window.open.bind(window);
  window.open = (address = "", target = "_blank", ...features) => {
    const name = `${target}`;
    if (["_self", "_parent", "_top"].includes(name.toLowerCase()) || (name && window[name]?.window)) {
      return open(address, name, ...features);
    }
    let full = `${address}` || "about:blank";
    try {
      full = new URL(full, document.baseURI).href;
    } catch {
      // told as it was written
    }
    record("window", full);
    return nothing;
  };

  // Smooth scrolling takes real time, so it would end somewhere else every time.
  const atOnce = (values) => {
    const [options] = values;
    return typeof options === "object" && options ? [{ ...options, behavior: "instant" }] : values;
  };
  for (const [holder, names] of [
    [window, ["scroll", "scrollTo", "scrollBy"]],
    [Element.prototype, ["scroll", "scrollTo", "scrollBy", "scrollIntoView"]],
  ]) {
    for (const name of names) {
      const real = holder[name];
      holder[name] = function (...values) {
        return real.apply(this ?? window, atOnce(values));
      };
    }
  }

  // The window of a stage never changes its size, but taking a picture says that it did.
  window.addEventListener(
    "resize",
    (event) => {
      if (event.isTrusted) event.stopImmediatePropagation();
    },
    true,
  );
})();
