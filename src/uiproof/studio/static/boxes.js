"use strict";
// The view of a stage: a screenshot with boxes, at any zoom. `boxes_input.js` handles input.
// Boxes are [left, top, right, bottom] in whole pixels of the screenshot, at any zoom.

const SVG = "http://www.w3.org/2000/svg";
const MOST_ZOOM = 16;
const LEAST_HEIGHT = 160; // of what is seen, in pixels of the screen
const HANDLE = 9; // pixels of the screen
const GRIP = 22; // what a finger can hit
const EDGES = { nw: [0, 0], n: [0.5, 0], ne: [1, 0], e: [1, 0.5], se: [1, 1], s: [0.5, 1], sw: [0, 1], w: [0, 0.5] };

function svgElement(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function htmlElement(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

class StageView {
  /**
   * `host` provides the boxes and receives changes:
   *   items()            [{ id, box }], in order; box may be null
   *   describe(item)     a short text for screen readers
   *   add(box)           a new item, returns its id
   *   move(id, box, how) a new position; changes with the same `how` are undone together
   *   remove(id), select(id), open(id), undo(), redo(), help()
   * `tools` are the shown buttons of "new", "undo", "help"; `numbered` shows numbers on boxes.
   */
  constructor(place, { source, width, height, label, host, tools = [], numbered = true }) {
    Object.assign(this, { width, height, host, numbered, chosen: null, zoom: 1, fitted: true, shapes: new Map() });
    this.pointers = new Map();
    this.svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none" });
    this.picture = htmlElement("img", { src: source, alt: "", draggable: false });
    this.sheet = htmlElement("div", { className: "stage-sheet" }, this.picture, this.svg);
    this.view = htmlElement("div", { className: "stage-view", tabIndex: 0 }, this.sheet);
    this.view.setAttribute("role", "group");
    this.view.setAttribute("aria-label", label);
    place.className = "stage";
    place.replaceChildren(this.toolbar(tools), this.view);
    this.listen();
    this.fit();
    // The width comes from the layout, the height is set here.
    new ResizeObserver(() => {
      if (this.fitted && this.fittedTo !== place.clientWidth) this.fit();
    }).observe(place);
    window.addEventListener("resize", () => { if (this.fitted && this.view.isConnected) this.fit(); });
  }

  toolbar(tools) {
    const bar = htmlElement("div", { className: "stage-tools" });
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "Screenshot");
    const button = (text, title, act) => {
      const made = htmlElement("button", { type: "button", textContent: text, title, onclick: act });
      if (text.length < 3) made.setAttribute("aria-label", title);
      bar.append(made);
      return made;
    };
    if (tools.includes("new")) button("New box", "New box in the middle (N)", () => this.addInTheMiddle());
    this.hand = button("Move", "Drag moves the picture (or hold Space)", () => this.setHand(!this.handOn));
    this.hand.setAttribute("aria-pressed", "false");
    button("−", "Zoom out (-)", () => this.setZoom(this.zoom / 1.25));
    this.shown = htmlElement("span", { className: "zoom" });
    bar.append(this.shown);
    button("+", "Zoom in (+)", () => this.setZoom(this.zoom * 1.25));
    button("Fit", "Fit to window (0)", () => this.fit());
    button("100 %", "Actual size (1)", () => this.setZoom(1));
    bar.append(htmlElement("span", { className: "gap" }));
    if (tools.includes("undo")) {
      this.undoButton = button("Undo", "Undo (Ctrl+Z)", () => this.host.undo());
      this.redoButton = button("Redo", "Redo (Shift+Ctrl+Z)", () => this.host.redo());
    }
    if (tools.includes("help")) button("Keys", "Keyboard shortcuts (?)", () => this.host.help());
    return bar;
  }

  // View

  fit() {
    this.view.style.height = "";
    this.fittedTo = this.view.parentElement.clientWidth;
    const wide = this.view.clientWidth / this.width;
    // Tall pages are fitted to the width: as a whole they would be too small to read.
    const high = this.view.clientHeight / this.height;
    const tall = this.height > 2.2 * this.width;
    this.setZoom(Math.min(wide, tall ? wide : high, 1) || 1);
    this.fitted = true;
  }

  /** Zoom so that the point of the picture under `at` (in the window) stays there. */
  setZoom(zoom, at = null) {
    const box = this.view.getBoundingClientRect();
    const chosen = at ? null : this.chosenItem()?.box;
    if (chosen) this.reveal(chosen);
    const before = this.svg.getBoundingClientRect();
    const point = at ?? (chosen ? this.middle(chosen) : { x: box.left + box.width / 2, y: box.top + box.height / 2 });
    const share = [(point.x - before.left) / (before.width || 1), (point.y - before.top) / (before.height || 1)];
    const least = Math.min(0.05, this.view.clientHeight / this.height);
    this.zoom = Math.min(Math.max(zoom, least), MOST_ZOOM);
    this.fitted = false;
    this.sheet.style.width = `${this.width * this.zoom}px`;
    this.sheet.style.height = `${this.height * this.zoom}px`;
    this.sheet.classList.toggle("pixels", this.zoom >= 2);
    this.view.style.height = ""; // as high as there is room, but not higher than the picture
    this.view.style.height = `${clamp(this.height * this.zoom, LEAST_HEIGHT, this.view.clientHeight)}px`;
    const after = this.svg.getBoundingClientRect();
    this.view.scrollLeft += after.left + share[0] * after.width - point.x;
    this.view.scrollTop += after.top + share[1] * after.height - point.y;
    this.shown.textContent = `${Math.round(this.zoom * 100)} %`;
    this.render();
  }

  /** Return the centre of a box in the window. */
  middle([left, top, right, bottom]) {
    const sheet = this.svg.getBoundingClientRect();
    return { x: sheet.left + ((left + right) / 2) * this.zoom, y: sheet.top + ((top + bottom) / 2) * this.zoom };
  }

  setHand(on) {
    this.handOn = on;
    this.hand.setAttribute("aria-pressed", String(on));
    this.view.classList.toggle("hand", on || Boolean(this.spaceHeld));
  }

  render() {
    const items = this.host.items().filter((item) => item.box);
    const ids = new Set(items.map((item) => item.id));
    for (const [id, shape] of this.shapes) {
      if (!ids.has(id)) { shape.remove(); this.shapes.delete(id); }
    }
    this.host.items().forEach((item, index) => { if (item.box) this.renderBox(item, index + 1); });
    // In the order of the items, which is the tab order.
    const order = items.map((item) => this.shapes.get(item.id));
    if (order.some((shape, index) => shape !== this.svg.children[index])) {
      const focused = document.activeElement;
      this.svg.prepend(...order);
      if (this.svg.contains(focused)) focused.focus({ preventScroll: true });
    }
    this.renderHandles();
  }

  renderBox(item, number) {
    let shape = this.shapes.get(item.id);
    if (!shape) {
      shape = svgElement("g", { class: "box", tabindex: 0, role: "button" });
      shape.dataset.id = item.id;
      shape.append(svgElement("rect", { class: "halo" }), svgElement("rect", { class: "line" }),
        svgElement("rect", { class: "tag" }), svgElement("text", { "text-anchor": "middle" }));
      this.shapes.set(item.id, shape);
      this.svg.append(shape);
    }
    const [left, top, right, bottom] = this.draft?.id === item.id ? this.draft.box : item.box;
    const [halo, line, tag, text] = shape.children;
    for (const rect of [halo, line]) setAttributes(rect, { x: left, y: top, width: right - left, height: bottom - top });
    const unit = 1 / this.zoom;
    const wide = (6 + 7 * String(number).length) * unit;
    const above = top >= 15 * unit ? top - 15 * unit : bottom + unit;
    setAttributes(tag, { x: left - unit, y: above, width: this.numbered ? wide : 0, height: 14 * unit });
    setAttributes(text, { x: left - unit + wide / 2, y: above + 11 * unit, "font-size": 11 * unit });
    text.textContent = this.numbered ? number : "";
    const chosen = item.id === this.chosen;
    shape.classList.toggle("chosen", chosen);
    setAttributes(shape, {
      "aria-label": `${this.numbered ? `${number}: ` : ""}${this.host.describe(item)}, ${right - left} by ${bottom - top} pixels at ${left}, ${top}`,
      "aria-pressed": chosen,
    });
  }

  renderHandles() {
    this.handles?.remove();
    const item = this.chosenItem();
    if (!item) return;
    const [left, top, right, bottom] = this.draft?.id === item.id ? this.draft.box : item.box;
    this.handles = svgElement("g", { "aria-hidden": "true" });
    for (const [edge, [x, y]] of Object.entries(EDGES)) {
      const at = [left + x * (right - left), top + y * (bottom - top)];
      // The middle handles of a small box would cover it.
      const room = Math.min(right - left, bottom - top) * this.zoom;
      if (edge.length === 1 && room < 3 * HANDLE) continue;
      const grip = Math.min(GRIP, Math.max(HANDLE, room / 2));
      for (const [size, kind] of [[grip, "handle grip"], [HANDLE, "handle"]]) {
        const side = size / this.zoom;
        const rect = svgElement("rect", { class: kind, x: at[0] - side / 2, y: at[1] - side / 2, width: side, height: side });
        rect.dataset.edge = edge;
        this.handles.append(rect);
      }
    }
    this.svg.append(this.handles);
  }

  chosenItem() {
    return this.host.items().find((item) => item.id === this.chosen && item.box) ?? null;
  }

  /** Choose a box; with `focus` keys go to it too. */
  choose(id, { focus = false, reveal = false } = {}) {
    this.chosen = id;
    this.render();
    const item = this.chosenItem();
    if (item && reveal) this.reveal(item.box);
    if (focus) (this.shapes.get(id) ?? this.view).focus({ preventScroll: true });
  }

  /** Scroll the centre of a box into view. */
  reveal(box) {
    const view = this.view.getBoundingClientRect();
    const { x, y } = this.middle(box);
    if (x < view.left || x > view.right) this.view.scrollLeft += x - (view.left + view.right) / 2;
    if (y < view.top || y > view.bottom) this.view.scrollTop += y - (view.top + view.bottom) / 2;
  }
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(value, most));
}

function ordered([a, b, c, d]) {
  return [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];
}

function area([left, top, right, bottom]) {
  return (right - left) * (bottom - top);
}

function setAttributes(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
}
