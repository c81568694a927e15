// Every visible element of a staged page, in document order, as far as a person could tell it from
// others. Open shadow roots and frames of the same origin are part of the page.
//
// most      how many elements at most
// after     the last number that an earlier document gave to an element
// selector  return only the first element that it fits, visible or not
// point     return only the topmost element at [x, y] of the page
({ most, after, selector, point }) => {
  const UNSEEN = 0.02; // opacity below which nothing is seen
  const LONGEST = 500; // characters of own text
  const LONGEST_LABEL = 1000;
  const SKIPPED = new Set(
    "head script style template meta link title base noscript source track param br wbr".split(" "),
  );
  const CLOSED = new Set("select textarea canvas video audio object embed img picture".split(" "));
  const ICON = 64; // pixels up to which a drawing is one thing
  const STATES = [
    ..."expanded pressed selected checked hidden current invalid sort".split(" "),
    ..."valuenow valuetext disabled busy".split(" "),
  ].map((name) => `aria-${name}`);
  const ATTRIBUTES = [
    ..."href target draggable contenteditable tabindex download name title".split(" "),
    ..."for list popovertarget aria-haspopup aria-controls".split(" "),
  ];
  const ours = globalThis.uiproof;
  ours.startAfter(after);

  const page = ours.plain(document);
  const root = page.documentElement;
  const size = [
    ...["Width", "Height"].map((side) =>
      Math.ceil(
        Math.max(
          root?.[`scroll${side}`] || 0,
          page.body?.[`scroll${side}`] || 0,
          root?.[`client${side}`] || 0,
        ),
      ),
    ),
  ];
  const everything = { x: 0, y: 0, w: size[0], h: size[1] };

  const intersect = (a, b) => {
    const x = Math.max(a.x, b.x);
    const y = Math.max(a.y, b.y);
    return {
      ...{ x, y },
      w: Math.max(0, Math.min(a.x + a.w, b.x + b.w) - x),
      h: Math.max(0, Math.min(a.y + a.h, b.y + b.h) - y),
    };
  };
  const corners = (box) => [
    Math.floor(box.x + 0.01),
    Math.floor(box.y + 0.01),
    Math.ceil(box.x + box.w - 0.01),
    Math.ceil(box.y + box.h - 0.01),
  ];
  const tidy = (text, longest) => text.slice(0, longest * 4).replace(/\s+/g, " ").trim().slice(0, longest);
  const join = (parts, longest) => tidy([...new Set(parts.filter(Boolean))].join(" "), longest);

  let pen = null;
  const colors = new Map();
  const rgba = (css) => {
    if (!colors.has(css)) {
      const plain = css.match(/^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/);
      if (plain) {
        colors.set(css, [+plain[1], +plain[2], +plain[3], plain[4] === undefined ? 1 : +plain[4]]);
      } else {
        pen ??= page.createElement("canvas").getContext("2d", { willReadFrequently: true });
        pen.clearRect(0, 0, 1, 1);
        pen.fillStyle = css;
        pen.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
        colors.set(css, [r, g, b, Math.round((a / 255) * 1000) / 1000]);
      }
    }
    return colors.get(css);
  };
  const hash = (text) => {
    let value = 5381;
    for (let i = 0; i < Math.min(text.length, 20000); i++) value = (value * 33) ^ text.charCodeAt(i);
    return (value >>> 0).toString(16);
  };

  const BUTTONS = { submit: "Submit", reset: "Reset", button: "" };
  const UNWRITTEN = new Set("checkbox radio range color file hidden image".split(" "));
  const shownText = (element, name) => {
    if (name === "select") return [...element.selectedOptions].map((option) => option.label).join(", ");
    if (name === "textarea") return element.value || element.placeholder;
    if (name !== "input" || UNWRITTEN.has(element.type)) return "";
    if (element.type in BUTTONS) return element.value || BUTTONS[element.type];
    if (element.type === "password") return "•".repeat(element.value.length) || element.placeholder;
    return element.value || element.placeholder;
  };

  const styleOf = (style, name) => {
    const said = {};
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => {
      const width = style[`border${side}Width`];
      const line = style[`border${side}Style`];
      return width === "0px" || line === "none" ? "" : `${width} ${line} ${style[`border${side}Color`]}`;
    });
    if (sides.some(Boolean)) {
      said.border = sides.every((side) => side === sides[0]) ? sides[0] : sides.join(" / ");
    }
    if (style.outlineStyle !== "none" && style.outlineWidth !== "0px") {
      said.outline = `${style.outlineWidth} ${style.outlineStyle} ${style.outlineColor}`;
    }
    if (style.boxShadow !== "none") said["box-shadow"] = style.boxShadow.slice(0, 200);
    if (style.textShadow !== "none") said["text-shadow"] = style.textShadow.slice(0, 200);
    const line = style.textDecorationLine;
    if (line && line !== "none") said["text-decoration"] = line;
    said["font-weight"] = style.fontWeight;
    said["font-size"] = style.fontSize;
    if (style.fontStyle !== "normal") said["font-style"] = style.fontStyle;
    if (style.opacity !== "1") said.opacity = style.opacity;
    said.cursor = style.cursor;
    if (style.transform !== "none") said.transform = style.transform;
    for (const side of ["rotate", "scale", "translate"]) {
      if (style[side] && style[side] !== "none") said[side] = style[side];
    }
    if (style.filter !== "none") said.filter = style.filter.slice(0, 200);
    if (style.borderRadius !== "0px") said["border-radius"] = style.borderRadius;
    if (style.backgroundImage !== "none") {
      const image = style.backgroundImage;
      said["background-image"] = image.length > 120 ? `${image.slice(0, 100)}… ${hash(image)}` : image;
    }
    if (style.textTransform !== "none") said["text-transform"] = style.textTransform;
    if (style.position !== "static") said.position = style.position;
    if (name !== "svg" && style.fill !== "rgb(0, 0, 0)") said.fill = style.fill;
    return said;
  };

  const stateOf = (element, name) => {
    const said = {};
    if (name === "input" && (element.type === "checkbox" || element.type === "radio")) {
      said.checked = String(element.checked);
      if (element.indeterminate) said.indeterminate = "true";
    } else if (name === "input" && element.type === "password") {
      said.value = "•".repeat(element.value.length);
    } else if (name === "input" || name === "textarea" || name === "output") {
      said.value = tidy(`${element.value}`, LONGEST);
    } else if (name === "progress" || name === "meter") said.value = String(element.value);
    if (name === "select") {
      said.selected = tidy([...element.selectedOptions].map((option) => option.label).join(", "), LONGEST);
    }
    if (name === "details" || name === "dialog") said.open = String(element.open);
    if (name === "img") said.src = tidy(element.currentSrc || element.src, 200);
    if (name === "svg") said.drawing = hash(element.innerHTML);
    if (name === "video" || name === "audio") said.paused = String(element.paused);
    for (const attribute of STATES) {
      const value = element.getAttribute(attribute);
      if (value !== null) said[attribute] = value.slice(0, 100);
    }
    if (element.matches(":disabled")) said.disabled = "true";
    if (element.validationMessage && element.matches(":user-invalid")) said.invalid = "true";
    return said;
  };
  const attributesOf = (element, style, isRoot) => {
    const said = {};
    for (const attribute of ATTRIBUTES) {
      const value = element.getAttribute(attribute);
      if (value !== null) said[attribute] = value.slice(0, 200);
    }
    const can = (overflow, more) =>
      more > 1 && (isRoot ? overflow !== "hidden" : overflow === "auto" || overflow === "scroll");
    const ways =
      (can(style.overflowX, element.scrollWidth - element.clientWidth) ? "x" : "") +
      (can(style.overflowY, element.scrollHeight - element.clientHeight) ? "y" : "");
    if (ways && (!isRoot || element.localName === "html")) said.scrollable = ways;
    return said;
  };

  const hasPseudoTexts =
    page.querySelector('link[rel~="stylesheet" i]') !== null ||
    [...page.querySelectorAll("style")].some((s) => /:(before|after)/i.test(s.textContent)) ||
    page.adoptedStyleSheets.length > 1;
  const pseudoText = (element, which) => {
    if (!hasPseudoTexts) return "";
    const content = getComputedStyle(element, which).content;
    const quoted = content.match(/"(?:[^"\\]|\\.)*"/g);
    return quoted ? quoted.map((part) => part.slice(1, -1).replace(/\\(.)/g, "$1")).join("") : "";
  };

  const found = [];
  const indexOf = new Map(); // element -> its place in `found`

  const describe = (node, style, box, parent) => {
    const element = ours.plain(node);
    const name = element.localName;
    const isRoot = isTop(node, name);
    const own = [];
    const field = shownText(element, name);
    if (field) own.push(field);
    else if (!CLOSED.has(name)) {
      own.push(pseudoText(node, "::before"));
      for (const child of element.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) own.push(child.data);
      }
      own.push(pseudoText(node, "::after"));
    }
    const text = tidy(own.join(" "), LONGEST);
    const written = field || text;
    const named = [written, element.getAttribute("aria-label"), element.getAttribute("alt")];
    if (!written && element.labels) named.push(...[...element.labels].map((label) => label.textContent));
    if (name === "input" && element.placeholder !== written) named.push(element.placeholder);
    return {
      ref: ours.refOf(node),
      parent,
      tag: name,
      id: `${element.getAttribute("id") ?? ""}`.slice(0, 200),
      box: corners(box),
      text,
      named: named.filter(Boolean),
      title: element.getAttribute("title") || "",
      label: "",
      role: (element.getAttribute("role") || "").slice(0, 50),
      type: ["input", "button"].includes(name) ? element.type : "",
      color: rgba(style.color).slice(0, 3),
      background: rgba(style.backgroundColor),
      style: styleOf(style, name),
      state: stateOf(element, name),
      attributes: attributesOf(element, style, isRoot),
      enabled: !element.matches(":disabled") && element.getAttribute("aria-disabled") !== "true",
    };
  };

  const isTop = (node, name) => name === "html" || name === "body";
  const toBox = (element, outer) => {
    const rect = element.getBoundingClientRect();
    return { x: rect.left + outer.dx, y: rect.top + outer.dy, w: rect.width, h: rect.height };
  };

  // Returns what a person reads inside.
  const visit = (node, outer) => {
    if (found.length >= most) return "";
    const element = ours.plain(node);
    const name = element.localName;
    if (SKIPPED.has(name)) return "";
    const style = getComputedStyle(node);
    if (style.display === "none") return "";
    const opacity = outer.opacity * parseFloat(style.opacity);
    if (opacity < UNSEEN) return "";
    const box = toBox(element, outer);
    const isRoot = isTop(node, name);
    let clip = outer.clip;
    if (style.position === "fixed" && !outer.isFrame) clip = everything;
    else if (style.position === "absolute") clip = outer.clipForAbsolute;
    const seen = intersect(box, clip);
    const isVisible =
      style.visibility === "visible" && seen.w >= 1 && seen.h >= 1 && style.clipPath !== "inset(100%)";
    let entry = null;
    let parent = outer.parent;
    if (isVisible) {
      entry = describe(node, style, seen, outer.parent);
      indexOf.set(node, found.length);
      found.push(entry);
      parent = entry.ref;
    }
    const inner = { ...outer, opacity, clip, parent };
    if (!isRoot && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
      inner.clip = seen;
    }
    if (style.position !== "static" || style.transform !== "none") inner.clipForAbsolute = inner.clip;

    const read = [];
    const into = (nodes) => {
      for (const child of nodes) {
        if (child.nodeType === Node.ELEMENT_NODE) read.push(visit(child, inner));
        else if (child.nodeType === Node.TEXT_NODE && isVisible) read.push(child.data);
      }
    };
    if (name === "iframe" || name === "frame") {
      try {
        const inside = element.contentDocument;
        if (inside?.documentElement) {
          ours.watch(inside);
          const rect = element.getBoundingClientRect();
          const dx = outer.dx + rect.left + element.clientLeft;
          const dy = outer.dy + rect.top + element.clientTop;
          const frame = { ...inner, dx, dy, isFrame: true, clip: seen, clipForAbsolute: seen };
          read.push(visit(inside.documentElement, frame));
        }
      } catch {
        // a frame of another origin
      }
    } else if (name === "details" && !element.open) {
      const summary = [...element.children].find((child) => child.localName === "summary");
      if (summary) read.push(visit(summary, inner));
    } else if (name === "svg" && seen.w <= ICON && seen.h <= ICON) {
      read.push(element.querySelector("title")?.textContent);
    } else if (!CLOSED.has(name) && style.contentVisibility !== "hidden") {
      if (element.shadowRoot) {
        ours.watch(element.shadowRoot);
        into(element.shadowRoot.childNodes);
      }
      into(element.childNodes);
    }
    const inside = tidy(read.filter(Boolean).join(" "), LONGEST_LABEL);
    if (!entry) return inside;
    const own = entry.named.filter((part) => !inside.includes(part));
    entry.label = join([inside, ...own], LONGEST_LABEL) || tidy(entry.title, LONGEST_LABEL);
    return join([inside, ...own.slice(0, 1)], LONGEST_LABEL);
  };

  // An element of our own choice, also where the page does not show it.
  const chosen = (element) => {
    if (!element) return null;
    if (indexOf.has(element)) return found[indexOf.get(element)];
    const rect = ours.plain(element).getBoundingClientRect();
    const at = { x: rect.left + scrollX, y: rect.top + scrollY, w: 0, h: 0 };
    const entry = describe(element, getComputedStyle(element), at, null);
    entry.box = [entry.box[0], entry.box[1], entry.box[0], entry.box[1]];
    entry.label = tidy(element.textContent || entry.named.join(" "), LONGEST_LABEL);
    return entry;
  };
  const documentsIn = function* (place) {
    yield place;
    for (const element of ours.plain(place).querySelectorAll("*")) {
      if (element.shadowRoot) yield* documentsIn(element.shadowRoot);
      if (element.localName === "iframe" || element.localName === "frame") {
        try {
          if (element.contentDocument) yield* documentsIn(element.contentDocument);
        } catch {
          // a frame of another origin
        }
      }
    }
  };
  const find = () => {
    for (const place of documentsIn(document)) {
      const match = ours.plain(place).querySelector(selector);
      if (match) return match;
    }
    return null;
  };
  const topmost = () => {
    let hit = page.elementFromPoint(point[0] - scrollX, point[1] - scrollY);
    for (let inner = hit; inner; hit = inner) {
      inner = inner.shadowRoot?.elementFromPoint(point[0] - scrollX, point[1] - scrollY);
      if (inner === hit) break;
    }
    for (; hit; hit = hit.parentElement) if (indexOf.has(hit)) return hit;
    // Outside of the window: the last that has the point in its box.
    let last = null;
    for (const [element, index] of indexOf) {
      const [left, top, right, bottom] = found[index].box;
      if (point[0] >= left && point[0] < right && point[1] >= top && point[1] < bottom) last = element;
    }
    return last;
  };

  const start = { dx: scrollX, dy: scrollY, opacity: 1, clip: everything, clipForAbsolute: everything, parent: null };
  if (root) visit(root, start);
  let focus = page.activeElement;
  while (focus?.shadowRoot?.activeElement) focus = focus.shadowRoot.activeElement;
  const only = selector !== null ? [chosen(find())] : point !== null ? [chosen(topmost())] : found;
  for (const entry of found) {
    delete entry.named;
    delete entry.title;
  }
  return {
    elements: only.filter(Boolean),
    cut: found.length >= most,
    size,
    url: page.URL,
    scroll: [Math.round(scrollX), Math.round(scrollY)],
    title: tidy(`${page.title}`, 200),
    focus: focus && focus !== page.body && focus !== root ? ours.refOf(focus) : null,
    last: ours.last(),
    total: ours.total(),
  };
}
