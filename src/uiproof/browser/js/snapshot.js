// Lists the visible elements of a staged page, in document order. Open shadow roots and frames of the
// same origin are part of the page.
//
// most      the largest number of elements
// after     the last number that an earlier document gave to an element
// selector  return only the first element that it matches, visible or not
// point     return only the topmost element at [x, y] of the page
({ most, after, selector, point }) => {
  const LONGEST = 500; // characters of own text
  const LONGEST_LABEL = 1000;
  const SKIPPED = new Set(
    "head script style template meta link title base noscript source track param br wbr".split(" "),
  );
  const CLOSED = new Set("select textarea canvas video audio object embed img picture".split(" "));
  const ICON = 64; // pixels up to which a drawing is one thing
  const NAMED_INSIDE = new Set("a button label summary".split(" "));
  const PAINTED = new Set("img canvas video iframe frame object embed".split(" "));
  const OPAQUE = 0.9; // opacity from which nothing shows through
  const MOST_TESTED = 2000; // texts that are tested for being covered
  const NONE = { texts: new Map(), box: null };
  let tested = 0;
  const STATES = [
    ..."expanded pressed selected checked hidden current invalid sort".split(" "),
    ..."valuenow valuetext disabled busy".split(" "),
  ].map((name) => `aria-${name}`);
  const ATTRIBUTES = [
    ..."href target draggable contenteditable tabindex download name title".split(" "),
    ..."for list popovertarget aria-haspopup aria-controls".split(" "),
  ];
  const ICON_NAMES = "class data-icon data-lucide data-feather icon name".split(" ");
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

  const corners = (box) => [
    Math.floor(box.x + 0.01),
    Math.floor(box.y + 0.01),
    Math.ceil(box.x + box.w - 0.01),
    Math.ceil(box.y + box.h - 0.01),
  ];
  const tidy = (text, longest) => text.slice(0, longest * 4).replace(/\s+/g, " ").trim().slice(0, longest);
  const join = (parts, longest) => tidy([...new Set(parts.filter(Boolean))].join(" "), longest);

  const hash = (text) => {
    let value = 5381;
    for (let i = 0; i < Math.min(text.length, 20000); i++) value = (value * 33) ^ text.charCodeAt(i);
    return (value >>> 0).toString(16);
  };

  const BUTTONS = { submit: "Submit", reset: "Reset", button: "" };
  const WRITTEN = new Set("input textarea select".split(" "));
  const PARTED = new Set("date time datetime-local month week".split(" ")); // drawn by the browser
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
      // The page's folder has another name at every visit.
      const folder = location.origin + location.pathname.replace(/[^/]*$/, "");
      const image = style.backgroundImage.replaceAll(folder, "");
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
    // The browser shows them outside of the page.
    if (element.localName === "select") {
      said.options = tidy([...element.options].map((option) => option.label).join("|"), LONGEST);
    }
    return said;
  };

  // The name of an icon in its source: fa-trash, #pencil, close.svg.
  const iconOf = (element, name) => {
    const said = ICON_NAMES.map((attribute) => element.getAttribute(attribute));
    if (name === "svg") {
      said.push(element.querySelector("title")?.textContent);
      said.push(element.querySelector("use")?.getAttribute("href"));
    }
    if (name === "img" && !element.src.startsWith("data:")) said.push(element.src.split("/").pop());
    return join(said, LONGEST);
  };

  const hasPseudoTexts =
    page.querySelector('link[rel~="stylesheet" i]') !== null ||
    [...page.querySelectorAll("style")].some((s) => /:(before|after)/i.test(s.textContent)) ||
    page.adoptedStyleSheets.some((s) => [...s.cssRules].some((r) => /:(before|after)/i.test(r.cssText)));
  const pseudoText = (element, which) =>
    (hasPseudoTexts && seen.pseudo(element, which)?.text) || "";

  // A field without its border.
  const inside = ({ x, y, w, h }) =>
    w > 12 && h > 12 ? { x: x + 4, y: y + 4, w: w - 8, h: h - 8 } : { x, y, w, h };

  const found = [];
  const indexOf = new Map(); // element -> its place in `found`

  // `texts` are its own visible texts; null for an invisible element.
  const describe = (node, style, box, parent, texts, ink) => {
    const element = ours.plain(node);
    const name = element.localName;
    const isRoot = isTop(node, name);
    const own = [];
    const field = shownText(element, name);
    if (field) own.push(ink || !texts ? field : "");
    else if (!CLOSED.has(name)) {
      own.push(pseudoText(node, "::before"));
      own.push(...(texts?.values() ?? unseenTexts(element)));
      own.push(pseudoText(node, "::after"));
    }
    const text = tidy(own.join(" "), LONGEST);
    const named = [text, element.getAttribute("aria-label"), element.getAttribute("alt")];
    if (!text && element.labels) named.push(...[...element.labels].map((label) => label.textContent));
    if (name === "input" && element.placeholder !== text) named.push(element.placeholder);
    const attributes = attributesOf(element, style, isRoot);
    if (box.w <= ICON && box.h <= ICON && !/[\p{L}\p{N}]/u.test(text)) {
      const icon = iconOf(element, name);
      if (icon) attributes.icon = icon;
    }
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
      color: seen.rgba(style.color).slice(0, 3),
      background: seen.rgba(style.backgroundColor),
      ink,
      style: styleOf(style, name),
      state: stateOf(element, name),
      attributes,
      enabled: !element.matches(":disabled") && element.getAttribute("aria-disabled") !== "true",
    };
  };

  const isTop = (node, name) => name === "html" || name === "body";
  // The visible texts of the element itself, by node, and the box around them.
  const textsOf = (element, inner) => {
    const texts = new Map();
    let box = null;
    for (const child of seen.drawnIn(element)) {
      if (child.nodeType !== Node.TEXT_NODE || !child.data.trim()) continue;
      const words = seen.words(child, inner);
      if (!words) continue;
      texts.set(child, words.text);
      box = seen.around(box, words.box);
    }
    return { texts, box };
  };
  // The position and the colour of letters, to find them in a picture. The opacity is 0 if something
  // else than the colour decides how they look.
  const inkOf = (node, style, at, box) => {
    const { localName: name, namespaceURI } = node;
    const isField = WRITTEN.has(name) && !UNWRITTEN.has(node.type) && !PARTED.has(node.type);
    const empty = isField && name !== "select" && node.value === "";
    const own = empty ? getComputedStyle(node, "::placeholder") : style;
    const letters = seen.letters(own, namespaceURI === "http://www.w3.org/2000/svg");
    if (!letters || !box) return null;
    const sure = letters.plain && at.inner.plain && (isField || (name !== "input" && !CLOSED.has(name)));
    const opacity = sure ? letters.alpha * at.inner.opacity * (empty ? parseFloat(own.opacity) : 1) : 0;
    return { box: corners(box), color: letters.color, opacity, covered: isCovered(node, box) };
  };
  const isPainted = (element, opacity) =>
    PAINTED.has(element.localName) ||
    getComputedStyle(element).backgroundImage !== "none" ||
    seen.rgba(getComputedStyle(element).backgroundColor)[3] * opacity >= OPAQUE;
  // Whether something else is painted over the part of a box that is in the window.
  const isCovered = (node, box) => {
    const contains = (outer, inner) => Node.prototype.contains.call(outer, inner);
    if (!contains(document, node) || tested++ >= MOST_TESTED) return false;
    let looked = false;
    for (const share of [0.5, 0.2, 0.8]) {
      const [x, y] = [box.x + box.w * share - scrollX, box.y + box.h / 2 - scrollY];
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) continue;
      looked = true;
      const hit = page.elementFromPoint(x, y);
      if (!hit || contains(hit, node) || contains(node, hit)) return false;
      let painted = false;
      let opacity = 1;
      for (let one = hit; one && !contains(one, node); one = ours.plain(one).parentElement) {
        opacity *= parseFloat(getComputedStyle(one).opacity);
        painted ||= isPainted(one, opacity);
      }
      if (!painted || opacity < OPAQUE) return false;
    }
    return looked;
  };

  // Add an element and its content; return the text that a person reads inside.
  const visit = (node, outer) => {
    if (found.length >= most) return "";
    const element = ours.plain(node);
    const name = element.localName;
    if (SKIPPED.has(name)) return "";
    const style = getComputedStyle(node);
    const isRoot = isTop(node, name);
    const at = seen.enter(style, seen.toBox(element.getBoundingClientRect(), outer), outer, isRoot);
    if (!at) return "";
    const open = !CLOSED.has(name) && !at.holdsUnseen;
    const own = open && at.isShown && seen.letters(style, name === "text") ? textsOf(element, at.inner) : NONE;
    // Letters may stick out of an element without an area.
    const box = seen.hasArea(at.box) ? at.box : own.box;
    const isVisible = at.isShown && box !== null && seen.hasArea(box);
    let entry = null;
    let parent = outer.parent;
    if (isVisible) {
      const field = CLOSED.has(name) || name === "input" ? inside(box) : own.box;
      entry = describe(node, style, box, outer.parent, own.texts, inkOf(node, style, at, field));
      indexOf.set(node, found.length);
      found.push(entry);
      parent = entry.ref;
    }
    const inner = { ...at.inner, parent };

    const read = [];
    const into = (nodes) => {
      for (const child of nodes) {
        if (child.nodeType === Node.ELEMENT_NODE) read.push(visit(child, inner));
        else if (own.texts.has(child)) read.push(own.texts.get(child));
      }
    };
    if (name === "iframe" || name === "frame") {
      try {
        const document = element.contentDocument;
        if (document?.documentElement) {
          ours.watch(document);
          const rect = element.getBoundingClientRect();
          const dx = outer.dx + rect.left + element.clientLeft;
          const dy = outer.dy + rect.top + element.clientTop;
          const frame = { ...inner, ...seen.start(at.box, dx, dy), opacity: at.opacity };
          read.push(visit(document.documentElement, frame));
        }
      } catch {
        // a frame of another origin
      }
    } else if (name === "svg" && at.box.w <= ICON && at.box.h <= ICON) {
      read.push(element.querySelector("title")?.textContent);
    } else if (open) {
      if (element.shadowRoot) {
        ours.watch(element.shadowRoot);
        into(element.shadowRoot.childNodes);
      }
      into(seen.drawnIn(element));
    }
    const said = tidy(read.filter(Boolean).join(" "), LONGEST_LABEL);
    if (!entry) return said;
    const names = entry.named.filter((part) => !said.includes(part));
    // A control without visible text is named by its text for screen readers.
    entry.label =
      join([said, ...names], LONGEST_LABEL) ||
      tidy(entry.title || (NAMED_INSIDE.has(name) ? element.textContent : ""), LONGEST_LABEL);
    return join([said, ...names.slice(0, 1)], LONGEST_LABEL);
  };

  const unseenTexts = (element) =>
    [...element.childNodes]
      .filter((child) => child.nodeType === Node.TEXT_NODE)
      .map((child) => child.data);
  // Describe one chosen element, visible or not.
  const chosen = (element) => {
    if (!element) return null;
    if (indexOf.has(element)) return found[indexOf.get(element)];
    const rect = ours.plain(element).getBoundingClientRect();
    const at = { x: rect.left + scrollX, y: rect.top + scrollY, w: 0, h: 0 };
    const entry = describe(element, getComputedStyle(element), at, null, null, null);
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
    // Outside of the window: the last element whose box contains the point.
    let last = null;
    for (const [element, index] of indexOf) {
      const [left, top, right, bottom] = found[index].box;
      if (point[0] >= left && point[0] < right && point[1] >= top && point[1] < bottom) last = element;
    }
    return last;
  };

  if (root) visit(root, { ...seen.start(everything, scrollX, scrollY), parent: null });
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
