// Operations on form fields that pointer and keys cannot do.
//
// ref    the number of the element
// work   the operation; see below
// value  the text or option
({ ref, work, value }) => {
  const ours = globalThis.uiproof;
  const page = ours.plain(document);
  const node = ref ? ours.element(ref) : page.documentElement;
  const element = node && ours.plain(node);
  if (!element?.isConnected) return { problem: "it is no longer on the page" };
  const SEGMENTS = new Set("date time datetime-local month week color range".split(" "));
  const UNWRITTEN = new Set("checkbox radio file hidden image submit reset button".split(" "));
  const isField = (one) =>
    (one.localName === "input" && !UNWRITTEN.has(one.type)) ||
    one.localName === "textarea" ||
    one.isContentEditable === true;
  const say = (one, names) => {
    for (const name of names) one.dispatchEvent(new Event(name, { bubbles: true, composed: true }));
  };
  const focused = () => {
    let one = page.activeElement;
    for (;;) {
      if (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
      else if (one?.localName === "iframe" && one.contentDocument?.activeElement) {
        one = one.contentDocument.activeElement;
      } else return one;
    }
  };
  const plain = (text) => `${text ?? ""}`.replace(/\s+/g, " ").trim().toLowerCase();
  const set = (one, name, to) => {
    const view = one.ownerDocument.defaultView;
    const kind = one.localName === "textarea" ? view.HTMLTextAreaElement : view.HTMLInputElement;
    Object.getOwnPropertyDescriptor(kind.prototype, name).set.call(one, to);
  };

  // The scrollable container of an element, if it is not the page itself.
  const moving = (start) => {
    const can = (overflow, more) => more > 1 && (overflow === "auto" || overflow === "scroll");
    for (let at = start; at; at = ours.plain(at).parentElement) {
      const one = ours.plain(at);
      if (one.localName === "body" || one.localName === "html") break;
      const { overflowX, overflowY } = getComputedStyle(at);
      const down = can(overflowY, one.scrollHeight - one.clientHeight);
      if (down || can(overflowX, one.scrollWidth - one.clientWidth)) return one;
    }
    return null;
  };

  const works = {
    // The field that typing into this element would reach.
    field: () => {
      const field = isField(element)
        ? element
        : (element.control ?? [...element.querySelectorAll("input, textarea, [contenteditable]")].find(isField));
      if (!field || !isField(field)) return { ref: null };
      if (field.readOnly) return { problem: "it is read-only" };
      if (field.matches(":disabled")) return { problem: "it is disabled" };
      const options = field.list ? [...field.list.options].map((option) => option.value) : [];
      return { ref: ours.refOf(field), type: field.type ?? "", typed: !SEGMENTS.has(field.type), options };
    },
    // Selects the content of the focused field, so that typing replaces it.
    mark: () => {
      const field = focused();
      if (!field || !isField(field)) return { problem: "it cannot be typed into" };
      if (ref && field !== node && element.contains(field) === false && isField(element)) {
        element.focus({ preventScroll: true });
      }
      const one = focused();
      if (!isField(one)) return { problem: "it cannot be typed into" };
      if (one.readOnly) return { problem: "it is read-only" };
      if (one.select) one.select();
      else one.ownerDocument.getSelection().selectAllChildren(one);
      const filled = one.select ? one.value !== "" : one.textContent !== "";
      return { ref: ours.refOf(one), typed: !SEGMENTS.has(one.type), filled };
    },
    // For fields that cannot be typed into key by key: dates, times, colours.
    put: () => {
      element.focus({ preventScroll: true });
      set(element, "value", value);
      if (value && element.value === "") return { problem: `it does not take '${value}'` };
      say(element, ["input", "change"]);
      return {};
    },
    changed: () => {
      const field = focused();
      if (field && isField(field)) say(field, ["change"]);
      return {};
    },
    // The <select> that this element is, belongs to or holds.
    list: () => {
      const list = element.closest("select") ?? element.control ?? element.querySelector("select");
      if (list?.localName !== "select") return { ref: null };
      const wanted = value ?? (element.localName === "option" ? element.label : null);
      return { ref: ours.refOf(list), wanted };
    },
    choose: () => {
      const options = [...element.options].filter((option) => !option.matches(":disabled"));
      let option;
      if (value === null) {
        const free = options.filter((one) => !one.selected && !one.hidden);
        const here = element.selectedIndex;
        option = free.find((one) => one.index > here && one.value !== "") ?? free.find((one) => one.value !== "") ?? free[0];
      } else {
        const wanted = plain(value);
        option =
          options.find((one) => plain(one.label) === wanted || plain(one.textContent) === wanted) ??
          options.find((one) => plain(one.value) === wanted) ??
          options.find((one) => wanted && plain(one.label).includes(wanted)) ??
          (/^#?\d+$/.test(wanted) ? element.options[Number(wanted.replace("#", ""))] : undefined);
      }
      if (!option || option.matches(":disabled")) {
        return { problem: value === null ? "it has no other option" : `it has no option '${value}'` };
      }
      element.focus({ preventScroll: true });
      if (element.multiple) {
        if (value === null || !option.selected) option.selected = !option.selected;
      } else if (element.selectedIndex === option.index) return {};
      else element.selectedIndex = option.index;
      say(element, ["input", "change"]);
      return {};
    },
    // The visible elements that could be options, before and after a custom list opens.
    options: () => {
      const shown = (one) => {
        const rect = one.getBoundingClientRect();
        return rect.width >= 1 && rect.height >= 1 && one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      };
      const kinds = "[role=option], [role=menuitem], [role=menuitemradio], [role=radio], li, a, button, label, span, div, td, p";
      const all = [...page.querySelectorAll(kinds)].slice(0, 20000);
      const wanted = value === null ? null : plain(value);
      const fits = all.filter((one) =>
        wanted === null
          ? one.matches("[role=option]:not([aria-selected=true]), [role=menuitemradio]:not([aria-checked=true])")
          : plain(one.innerText ?? one.textContent) === wanted,
      );
      return { refs: fits.filter((one) => shown(one) && !one.contains(node) && one !== node).map(ours.refOf).slice(0, 200) };
    },
    // Focuses the element, or the first focusable element in it.
    focus: () => {
      if (element.matches(":disabled")) return { problem: "it is disabled" };
      const tries = [node, ...element.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]")];
      for (const one of tries.slice(0, 20)) {
        ours.plain(one).focus({ preventScroll: true });
        if (ours.plain(one).matches(":focus")) return { ref: ours.refOf(one) };
      }
      return { ref: null };
    },
    // The position of a slider's handle and its direction.
    slider: () => {
      if (element.localName !== "input" || element.type !== "range") return { range: null };
      const rect = element.getBoundingClientRect();
      const [min, max] = [Number(element.min || 0), Number(element.max || 100)];
      const share = max > min ? (element.valueAsNumber - min) / (max - min) : 0;
      const style = getComputedStyle(element);
      const upright = rect.height > rect.width * 1.5;
      const leftwards = style.direction === "rtl";
      return { range: { share: leftwards && !upright ? 1 - share : share, upright } };
    },
    // The visible size of the scrollable container of the element.
    scroller: () => {
      if (element.localName === "html" || element.localName === "body") {
        // A point of the window where the wheel scrolls the page and not a container.
        const shares = [0.5, 0.9, 0.1, 0.7, 0.3, 0.98, 0.02];
        const points = shares.flatMap((fy) => shares.map((fx) => [innerWidth * fx, innerHeight * fy]));
        const free = points.find(([x, y]) => {
          const hit = page.elementFromPoint(x, y);
          return !hit || (hit.localName !== "iframe" && !moving(hit));
        });
        const [x, y] = free ?? points[0];
        return { width: innerWidth, height: innerHeight, x, y };
      }
      const one = moving(node);
      if (one) return { width: one.clientWidth, height: one.clientHeight };
      return { width: innerWidth, height: innerHeight };
    },
  };
  return works[work]();
}
