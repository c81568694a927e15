"use strict";
// Drawing, moving and resizing of boxes by mouse, touch and keyboard.

const CLICK = 4; // pixels of the screen: a press that moves less is a click
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Stage extends StageView {
  // Pointers

  listen() {
    this.sheet.addEventListener("pointerdown", (event) => this.press(event));
    this.sheet.addEventListener("pointermove", (event) => this.drag(event));
    this.sheet.addEventListener("pointerup", (event) => this.release(event));
    this.sheet.addEventListener("pointercancel", (event) => this.release(event, true));
    this.view.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const step = Math.max(-60, Math.min(60, event.deltaY));
      this.setZoom(this.zoom * Math.exp(-step / 240), { x: event.clientX, y: event.clientY });
    }, { passive: false });
    this.view.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("keyup", (event) => { if (event.key === " ") this.holdSpace(false); });
    window.addEventListener("blur", () => this.holdSpace(false));
    this.svg.addEventListener("focusin", (event) => {
      const id = event.target.closest?.(".box")?.dataset.id;
      if (id && id !== this.chosen) { this.choose(id, { reveal: true }); this.host.select(id); }
    });
  }

  /** Return the pointer in pixels of the screenshot, clamped to it. */
  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = Math.round(((event.clientX - box.left) / box.width) * this.width);
    const y = Math.round(((event.clientY - box.top) / box.height) * this.height);
    return [Math.max(0, Math.min(x, this.width)), Math.max(0, Math.min(y, this.height))];
  }

  /** Return the smallest box under the pointer, or the chosen one if it is `preferred`. */
  hit(event, preferred = null) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / this.zoom;
    const y = (event.clientY - box.top) / this.zoom;
    const near = 3 / this.zoom; // half of a line belongs to its box
    const under = this.host.items().filter(({ box: area }) => area
      && x >= area[0] - near && x <= area[2] + near && y >= area[1] - near && y <= area[3] + near);
    under.sort((one, other) => area(one.box) - area(other.box));
    return (under.find((item) => item.id === preferred) ?? under[0])?.id ?? null;
  }

  press(event) {
    if (event.pointerType === "mouse" && event.button > 1) return;
    event.preventDefault();
    this.sheet.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pointers.size === 2) { this.beginPinch(); return; }
    const start = { x: event.clientX, y: event.clientY, point: this.point(event), moved: false };
    const edge = event.target.dataset?.edge;
    const id = this.hit(event, this.chosen);
    if (this.handOn || this.spaceHeld || event.button === 1) {
      this.view.classList.add("panning");
      this.action = { ...start, kind: "pan", left: this.view.scrollLeft, top: this.view.scrollTop };
    } else if (edge) {
      this.action = { ...start, kind: "resize", edge, id: this.chosen, from: this.chosenItem().box };
    } else if (id !== null && id === this.chosen) {
      this.action = { ...start, kind: "move", id, from: this.chosenItem().box };
    } else {
      this.action = { ...start, kind: "draw", id };
    }
  }

  drag(event) {
    if (!this.pointers.has(event.pointerId)) {
      const over = this.hit(event);
      for (const [id, shape] of this.shapes) shape.classList.toggle("over", id === over);
      return;
    }
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pinch) { this.movePinch(); return; }
    const action = this.action;
    if (!action) return;
    const [dx, dy] = [event.clientX - action.x, event.clientY - action.y];
    action.moved ||= Math.hypot(dx, dy) >= CLICK;
    if (!action.moved) return;
    if (action.kind === "pan") {
      this.view.scrollLeft = action.left - dx;
      this.view.scrollTop = action.top - dy;
      return;
    }
    this.draft = { id: action.kind === "draw" ? null : action.id, box: this.dragged(action, this.point(event)) };
    if (action.kind === "draw") this.renderDraft();
    else this.render();
  }

  dragged(action, [x, y]) {
    const [fromX, fromY] = action.point;
    if (action.kind === "draw") return ordered([fromX, fromY, x, y]);
    if (action.kind === "move") return this.kept(action.from, x - fromX, y - fromY);
    const box = [...action.from];
    const [atX, atY] = EDGES[action.edge];
    if (atX !== 0.5) box[atX ? 2 : 0] = clamp(box[atX ? 2 : 0] + x - fromX, 0, this.width);
    if (atY !== 0.5) box[atY ? 3 : 1] = clamp(box[atY ? 3 : 1] + y - fromY, 0, this.height);
    return ordered(box);
  }

  renderDraft() {
    this.drawn ??= this.svg.appendChild(svgElement("g", { class: "box chosen" }));
    const [left, top, right, bottom] = this.draft.box;
    const place = { x: left, y: top, width: right - left, height: bottom - top };
    this.drawn.replaceChildren(svgElement("rect", { class: "halo", ...place }), svgElement("rect", { class: "line", ...place }));
  }

  release(event, cancelled = false) {
    this.pointers.delete(event.pointerId);
    if (this.pinch) { if (this.pointers.size === 0) this.pinch = null; return; }
    const { action, draft } = this;
    this.dropDraft();
    if (!action || cancelled) { this.render(); return; }
    if (action.kind === "pan") return;
    if (!action.moved) {
      const id = action.kind === "resize" ? action.id : this.hit(event);
      this.choose(id, { focus: true });
      this.host.select(id);
    } else if (draft && draft.box[2] > draft.box[0] && draft.box[3] > draft.box[1]) {
      if (action.kind === "draw") this.add(draft.box);
      else { this.host.move(action.id, draft.box, ""); this.choose(action.id, { focus: true }); }
    } else {
      this.render();
    }
  }

  dropDraft() {
    this.action = this.draft = null;
    this.drawn?.remove();
    this.drawn = null;
    this.view.classList.remove("panning");
  }

  beginPinch() {
    this.dropDraft();
    const [a, b] = [...this.pointers.values()];
    this.pinch = { distance: Math.hypot(a.x - b.x, a.y - b.y), zoom: this.zoom, x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    this.render();
  }

  movePinch() {
    if (this.pointers.size < 2) return;
    const [a, b] = [...this.pointers.values()];
    const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    this.view.scrollLeft -= middle.x - this.pinch.x;
    this.view.scrollTop -= middle.y - this.pinch.y;
    Object.assign(this.pinch, middle);
    this.setZoom((this.pinch.zoom * Math.hypot(a.x - b.x, a.y - b.y)) / (this.pinch.distance || 1), middle);
  }

  // Keys

  key(event) {
    const item = this.chosenItem();
    const step = event.shiftKey ? 10 : 1;
    const arrow = ARROWS[event.key];
    if (event.ctrlKey || event.metaKey) return; // undo and the like are for the whole page
    if (arrow && item) {
      const [dx, dy] = [arrow[0] * step, arrow[1] * step];
      const [left, top, right, bottom] = item.box;
      const moved = event.altKey
        ? [left, top, clamp(right + dx, left + 1, this.width), clamp(bottom + dy, top + 1, this.height)]
        : this.kept(item.box, dx, dy);
      this.host.move(item.id, moved, "keys");
      this.reveal(moved);
    } else if (event.altKey) {
      return;
    } else if (event.key === "n" || event.key === "N") this.addInTheMiddle();
    else if (item && (event.key === "Delete" || event.key === "Backspace")) this.remove(item.id);
    else if (item && event.key === "Enter") this.host.open(item.id);
    else if (event.key === "Escape") { this.choose(null, { focus: true }); this.host.select(null); }
    else if (event.key === " ") this.holdSpace(true);
    else if (event.key === "+" || event.key === "=") this.setZoom(this.zoom * 1.25);
    else if (event.key === "-") this.setZoom(this.zoom / 1.25);
    else if (event.key === "0") this.fit();
    else if (event.key === "1") this.setZoom(1);
    else return;
    event.preventDefault();
  }

  holdSpace(held) {
    this.spaceHeld = held;
    this.view.classList.toggle("hand", held || Boolean(this.handOn));
  }

  /** Add a box of the usual size in the middle of the view. */
  addInTheMiddle() {
    const view = this.view.getBoundingClientRect();
    const sheet = this.svg.getBoundingClientRect();
    const middle = [
      (Math.max(view.left, sheet.left) + Math.min(view.right, sheet.right)) / 2,
      (Math.max(view.top, sheet.top) + Math.min(view.bottom, sheet.bottom)) / 2,
    ];
    const [x, y] = this.point({ clientX: middle[0], clientY: middle[1] });
    const wide = Math.max(1, Math.min(Math.round(120 / this.zoom), this.width));
    const high = Math.max(1, Math.min(Math.round(40 / this.zoom), this.height));
    const left = clamp(x - Math.round(wide / 2), 0, this.width - wide);
    const top = clamp(y - Math.round(high / 2), 0, this.height - high);
    this.add([left, top, left + wide, top + high]);
  }

  add(box) {
    const id = this.host.add(box);
    this.choose(id, { focus: true, reveal: true });
    this.host.select(id);
  }

  remove(id) {
    const ids = this.host.items().filter((item) => item.box).map((item) => item.id);
    const next = ids[ids.indexOf(id) + 1] ?? ids[ids.indexOf(id) - 1] ?? null;
    this.host.remove(id);
    this.choose(next, { focus: true });
    this.host.select(next);
  }

  /** Return a moved box, kept inside the picture. */
  kept([left, top, right, bottom], dx, dy) {
    const x = clamp(dx, -left, this.width - right);
    const y = clamp(dy, -top, this.height - bottom);
    return [left + x, top + y, right + x, bottom + y];
  }
}
