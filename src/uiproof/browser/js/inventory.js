// Everything a person would see on the page, from the DOM: texts with their colours, pictures,
// controls and painted surfaces, as boxes [x, y, width, height] in page pixels.
({ width, height, most }) => {
  const found = { texts: [], images: [], controls: [], surfaces: [] };
  const PICTURES = new Set("img svg canvas video picture object embed iframe frame".split(" "));
  const CONTROLS = new Set("input select textarea button progress meter".split(" "));
  const LABELLED = new Set("button submit reset".split(" "));
  const UNSEEN = 0.02; // opacity below which nothing is seen
  let left = most;

  const intersect = (a, b) => {
    const x = Math.max(a.x, b.x);
    const y = Math.max(a.y, b.y);
    return {
      x,
      y,
      w: Math.min(a.x + a.w, b.x + b.w) - x,
      h: Math.min(a.y + a.h, b.y + b.h) - y,
    };
  };
  const toBox = (rect) => ({
    x: rect.left + window.scrollX,
    y: rect.top + window.scrollY,
    w: rect.width,
    h: rect.height,
  });
  const list = (box) => [box.x, box.y, box.w, box.h];
  const add = (kind, box, clip, ...more) => {
    const seen = intersect(box, clip);
    if (seen.w < 1 || seen.h < 1 || left-- <= 0) return false;
    found[kind].push(more.length ? [list(seen), ...more] : list(seen));
    return true;
  };

  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colors = new Map();
  const rgba = (css) => {
    if (!colors.has(css)) {
      const plain = css.match(/^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/);
      if (plain) {
        colors.set(css, [+plain[1], +plain[2], +plain[3], plain[4] === undefined ? 1 : +plain[4]]);
      } else {
        pen.clearRect(0, 0, 1, 1);
        pen.fillStyle = css;
        pen.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
        colors.set(css, [r, g, b, a / 255]);
      }
    }
    return colors.get(css);
  };

  // Whose every text is, for `recolor`: an element, and the text node or the pseudo-element in it.
  const owners = [];
  const addText = (text, box, clip, style, owner) => {
    if (!text.trim()) return;
    const [r, g, b, alpha] = rgba(style.color);
    const throughText = style.webkitBackgroundClip === "text";
    if (alpha < UNSEEN && !throughText) return;
    if (parseFloat(style.fontSize) < 1) return;
    if (add("texts", box, clip, text, [r, g, b])) owners.push(owner);
  };

  // What a form control shows as text.
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
    ["Top", "Right", "Bottom", "Left"].some(
      (side) =>
        parseFloat(style[`border${side}Width`]) > 0 &&
        !["none", "hidden"].includes(style[`border${side}Style`]) &&
        rgba(style[`border${side}Color`])[3] >= UNSEEN,
    );
  // The plain colour that is all a surface shows, null where it shows something else as well, and
  // undefined where it shows nothing.
  const paint = (style) => {
    const [r, g, b, alpha] = rgba(style.backgroundColor);
    if (style.backgroundImage.includes("gradient(") || hasBorder(style)) return null;
    if (alpha >= 1) return [r, g, b];
    return alpha >= UNSEEN ? null : undefined;
  };

  const hasPseudoTexts =
    document.querySelector('link[rel~="stylesheet" i]') !== null ||
    [...document.querySelectorAll("style")].some((s) => /:(before|after)/i.test(s.textContent));
  const pseudoText = (element, which) => {
    const content = getComputedStyle(element, which).content;
    const quoted = content.match(/"(?:[^"\\]|\\.)*"/g);
    return quoted ? quoted.map((part) => JSON.parse(part.replace(/\n/g, "\\n"))).join("") : "";
  };

  const range = document.createRange();
  const textBox = (node) => {
    range.selectNodeContents(node);
    let box = null;
    for (const rect of range.getClientRects()) {
      if (rect.width < 0.5 || rect.height < 0.5) continue;
      const one = toBox(rect);
      if (!box) box = one;
      else {
        const x = Math.min(box.x, one.x);
        const y = Math.min(box.y, one.y);
        box = {
          x,
          y,
          w: Math.max(box.x + box.w, one.x + one.w) - x,
          h: Math.max(box.y + box.h, one.y + one.h) - y,
        };
      }
    }
    return box;
  };

  const page = { x: 0, y: 0, w: width, h: height };
  const start = { opacity: 1, clip: page, clipForAbsolute: page };

  const visit = (element, outer) => {
    if (left <= 0) return;
    const style = getComputedStyle(element);
    if (style.display === "none") return;
    const opacity = outer.opacity * parseFloat(style.opacity);
    if (opacity < UNSEEN) return;
    let clip = outer.clip;
    if (style.position === "fixed") clip = page;
    else if (style.position === "absolute") clip = outer.clipForAbsolute;
    const shown = style.visibility === "visible";
    const box = toBox(element.getBoundingClientRect());
    const name = element.localName;
    const isRoot = element === document.body || element === document.documentElement;

    if (shown && !isRoot) {
      const failed = name === "img" && (!element.complete || element.naturalWidth === 0);
      if (failed) addText(element.alt, box, clip, style, { element });
      if (PICTURES.has(name) || /url\(/.test(style.backgroundImage)) add("images", box, clip);
      if (CONTROLS.has(name) && element.type !== "hidden") add("controls", box, clip);
      else if (!PICTURES.has(name)) {
        const color = paint(style);
        if (color !== undefined) add("surfaces", box, clip, opacity < 1 ? null : color);
      }
      const text = shownText(element);
      if (text) addText(text, box, clip, style, { element });
    }

    const inner = { opacity, clip, clipForAbsolute: outer.clipForAbsolute };
    if (!isRoot && (style.overflowX !== "visible" || style.overflowY !== "visible")) {
      inner.clip = intersect(clip, box);
    }
    if (style.position !== "static" || style.transform !== "none") {
      inner.clipForAbsolute = inner.clip;
    }
    if (["textarea", "select", "svg", "iframe", "object", "video", "canvas"].includes(name)) {
      if (name === "svg" && shown) {
        for (const text of element.querySelectorAll("text")) {
          const own = getComputedStyle(text);
          const painted = {
            color: own.fill.startsWith("url") ? own.color : own.fill,
            fontSize: own.fontSize,
          };
          const place = toBox(text.getBoundingClientRect());
          addText(text.textContent, place, clip, painted, { element: text });
        }
      }
      return;
    }
    if (shown && hasPseudoTexts) {
      const before = pseudoText(element, "::before");
      const pseudo = "::before";
      if (before) addText(before, box, inner.clip, getComputedStyle(element, pseudo), { element, pseudo });
    }
    const children = element.shadowRoot
      ? [...element.shadowRoot.childNodes, ...element.childNodes]
      : element.childNodes;
    for (const child of children) {
      if (child.nodeType === Node.ELEMENT_NODE) visit(child, inner);
      else if (child.nodeType === Node.TEXT_NODE && shown && child.data.trim()) {
        const place = textBox(child);
        if (place) addText(child.data, place, inner.clip, style, { element, node: child });
      }
    }
    if (shown && hasPseudoTexts) {
      const after = pseudoText(element, "::after");
      const pseudo = "::after";
      if (after) addText(after, box, inner.clip, getComputedStyle(element, pseudo), { element, pseudo });
    }
  };
  if (document.body) visit(document.body, start);
  globalThis.uiproofTexts = owners;
  return found;
}
