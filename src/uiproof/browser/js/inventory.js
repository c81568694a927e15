// Lists the visible content of the page, from the DOM: texts with their colours, pictures, controls and
// painted surfaces, as boxes [x, y, width, height] in page pixels. `reach` is the scrollable part of the
// page, `veiled` whether something may cover it all the time. `elements` are [parent, tag, selector or
// selector relative to the parent, box, font, paint], where font and paint are indices in `fonts` and
// `paints`; `text_elements` has the element of each text.
({ width, height, most }) => {
  const found = { texts: [], images: [], controls: [], surfaces: [] };
  const listed = { elements: [], fonts: [], paints: [], text_elements: [] };
  const PICTURES = new Set("img svg canvas video picture object embed iframe frame".split(" "));
  const CONTROLS = new Set("input select textarea button progress meter".split(" "));
  const LABELLED = new Set("button submit reset".split(" "));
  let left = most;

  const list = (box) => [box.x, box.y, box.w, box.h];
  const add = (kind, box, clip, ...more) => {
    const part = seen.intersect(box, clip);
    if (!seen.hasArea(part) || left-- <= 0) return false;
    found[kind].push(more.length ? [list(part), ...more] : list(part));
    return true;
  };
  // The owner of each text, for `recolor`: an element, and its text node or pseudo-element.
  const owners = [];
  const addText = (text, box, clip, style, owner, inSvg = false) => {
    const ink = text.trim() && seen.letters(style, inSvg);
    if (!ink || box.h < seen.LOWEST) return;
    if (!add("texts", box, clip, text, ink.color)) return;
    owners.push(owner);
    listed.text_elements.push(numbers.get(owner.element) ?? listed.elements.length - 1);
  };

  // --- elements, with their selectors

  const numbers = new Map();
  const steps = new Map();
  const known = { fonts: new Map(), paints: new Map() };
  const numberOf = (kind, value) => {
    if (!known[kind].has(value)) known[kind].set(value, listed[kind].push(value) - 1);
    return known[kind].get(value);
  };
  const uses = new Map();
  const isOnly = (selector) => {
    if (!uses.has(selector)) {
      const name = selector.slice(1);
      const all = selector[0] === "." ? document.getElementsByClassName(name).length : document.querySelectorAll(`[id="${CSS.escape(name)}"]`).length;
      uses.set(selector, all === 1);
    }
    return uses.get(selector);
  };
  const NAME = /^[a-z_][\w-]*$/i;
  // The relative selector of each child of an element: its tag, with its position if not unique.
  const lead = (parent, between) => {
    // Not `parent.children`, which a form control of that name shadows.
    const children = Reflect.get((parent.nodeType === 1 ? Element : DocumentFragment).prototype, "children", parent);
    const alike = new Map();
    for (const child of children) {
      const name = child.localName;
      if (alike.has(name)) alike.get(name).push(child);
      else alike.set(name, [child]);
    }
    for (const [name, those] of alike) {
      const step = between + CSS.escape(name);
      if (those.length === 1) steps.set(those[0], step);
      else those.forEach((child, place) => steps.set(child, `${step}:nth-of-type(${place + 1})`));
    }
  };
  const selectorOf = (element) => {
    if (element === document.body) return "body";
    if (element.getRootNode() === document) {
      if (NAME.test(element.id) && isOnly(`#${element.id}`)) return `#${element.id}`;
      const own = [...Reflect.get(Element.prototype, "classList", element)].slice(0, 4).find((one) => NAME.test(one) && isOnly(`.${one}`));
      if (own) return `.${own}`;
    }
    return steps.get(element) ?? element.localName;
  };
  // The page's folder has another name at every visit.
  const folder = location.origin + location.pathname.replace(/[^/]*$/, "");
  const line = (style, side) => `${style[`border${side}Width`]} ${style[`border${side}Style`]} ${style[`border${side}Color`]}`;
  const describe = (element, parent, style, box) => {
    const family = style.fontFamily.split(",")[0].replace(/["']/g, "").trim();
    const font = [style.fontSize, style.fontWeight, family, style.fontStyle, style.lineHeight, style.letterSpacing, style.textDecorationLine, style.textTransform, style.color];
    let border = "";
    if (style.borderWidth !== "0px") {
      const sides = ["Top", "Right", "Bottom", "Left"].map((side) => line(style, side)).map((one) => (/^0px| none | hidden /.test(one) ? "" : one));
      border = sides.every((one) => one === sides[0]) ? sides[0] : sides.join(", ");
    }
    const picture = element.localName === "img" ? element.currentSrc.replace(/^.*\//, "").slice(-200) : style.backgroundImage.replaceAll(folder, "").slice(0, 200);
    const paint = [style.backgroundColor, picture, border, style.borderTopLeftRadius, style.boxShadow, style.opacity];
    numbers.set(element, listed.elements.length);
    listed.elements.push([
      ...[numbers.get(parent) ?? -1, element.localName, selectorOf(element), list(box)],
      ...[numberOf("fonts", font.join("|")), numberOf("paints", paint.join("|"))],
    ]);
  };

  // The text that a form control shows.
  const shownText = (element) => {
    if (element.localName === "select") {
      const chosen = element.multiple ? [...element.options] : [...element.selectedOptions];
      return chosen.map((option) => option.label).join(" ");
    }
    if (element.localName === "textarea") return element.value || element.placeholder;
    if (element.localName !== "input") return "";
    if (element.type === "password" && element.value) return "•".repeat(element.value.length);
    if (LABELLED.has(element.type)) {
      return element.value || { submit: "Submit", reset: "Reset" }[element.type] || "";
    }
    if (["checkbox", "radio", "range", "color", "file", "hidden", "image"].includes(element.type)) {
      return "";
    }
    return element.value || element.placeholder || "";
  };

  const hasBorder = (style) =>
    style.borderWidth !== "0px" &&
    ["Top", "Right", "Bottom", "Left"].some(
      (side) =>
        parseFloat(style[`border${side}Width`]) > 0 &&
        !["none", "hidden"].includes(style[`border${side}Style`]) &&
        seen.rgba(style[`border${side}Color`])[3] >= seen.UNSEEN,
    );
  // The colour of a flat surface, null if it shows something else as well, and undefined if it shows
  // nothing.
  const paint = (style) => {
    const [r, g, b, alpha] = seen.rgba(style.backgroundColor);
    if (style.backgroundImage.includes("gradient(") || hasBorder(style)) return null;
    if (alpha >= 1) return [r, g, b];
    return alpha >= seen.UNSEEN ? null : undefined;
  };

  const hasPseudoTexts =
    document.querySelector('link[rel~="stylesheet" i]') !== null ||
    [...document.querySelectorAll("style")].some((s) => /:(before|after)/i.test(s.textContent));
  const visit = (element, outer, parent) => {
    if (left <= 0) return;
    const style = getComputedStyle(element);
    const whole = seen.toBox(element.getBoundingClientRect(), outer);
    const name = element.localName;
    const isRoot = element === document.body || element === document.documentElement;
    const at = seen.enter(style, whole, outer, isRoot);
    if (!at) return;
    const { box, inner, isShown } = at;
    if (listed.elements.length < most) describe(element, parent, style, box);

    if (isShown && !isRoot) {
      const failed = name === "img" && (!element.complete || element.naturalWidth === 0);
      const upright = seen.isUpright(inner, parseFloat(style.fontSize));
      if (failed && upright) addText(element.alt, box, box, style, { element });
      if (PICTURES.has(name) || /url\(/.test(style.backgroundImage)) add("images", box, box);
      if (CONTROLS.has(name) && element.type !== "hidden") add("controls", box, box);
      else if (!PICTURES.has(name)) {
        const color = paint(style);
        if (color !== undefined) add("surfaces", box, box, at.opacity < 1 ? null : color);
      }
      const text = upright ? shownText(element) : "";
      if (text) addText(text, box, box, style, { element });
    }
    if (at.holdsUnseen) return;
    if (["textarea", "select", "svg", "iframe", "object", "video", "canvas"].includes(name)) {
      if (name === "svg" && isShown && seen.isUpright(inner, 16)) {
        for (const text of element.querySelectorAll("text")) {
          const own = seen.toBox(text.getBoundingClientRect(), outer);
          addText(text.textContent, own, inner.clip, getComputedStyle(text), { element: text }, true);
        }
      }
      return;
    }
    const pseudo = (which) => {
      if (!isShown || !hasPseudoTexts) return;
      const made = seen.pseudo(element, which);
      if (made && seen.isUpright(inner, parseFloat(made.style.fontSize))) addText(made.text, whole, inner.clip, made.style, { element, pseudo: which });
    };
    pseudo("::before");
    lead(element, " > ");
    if (element.shadowRoot) lead(element.shadowRoot, " >>> ");
    for (const child of [...(element.shadowRoot?.childNodes ?? []), ...seen.drawnIn(element)]) {
      if (child.nodeType === Node.ELEMENT_NODE) visit(child, inner, element);
      else if (child.nodeType === Node.TEXT_NODE && isShown && child.data.trim()) {
        const words = seen.words(child, inner, false);
        if (words) addText(words.text, words.box, inner.clip, style, { element, node: child });
      }
    }
    pseudo("::after");
  };
  const { w, h } = seen.reach(width, height);
  const page = { x: 0, y: 0, w, h };
  const cover = seen.cover();
  const from = cover ?? document.body;
  if (from) visit(from, seen.start(page, window.scrollX, window.scrollY));
  globalThis.uiproofTexts = owners;
  const bottom = cover ? Math.min(h, window.innerHeight) : h;
  return { ...found, ...listed, reach: [w, bottom], window: window.innerHeight, veiled: !cover && seen.isVeiled() };
}
