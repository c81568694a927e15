"use strict";
// The editor of boxes: the stage, the form of the chosen box, and the list of all.

(function start() {
  const place = document.getElementById("editor");
  if (!place) return;
  const state = JSON.parse(place.dataset.state);
  const form = document.getElementById("form");
  const field = (name) => form.elements[name];
  const types = [...field("type").options].map((option) => option.value);
  let chosen = null;
  let lastType = "";
  const places = new Map(); // where boxes were that are not on the screen any more

  const find = (content, id) => content.boxes.find((box) => box.id === id);
  const current = () => find(editing.content, chosen);

  const editing = new Editing({
    address: `/data/${place.dataset.set}/boxes`,
    state,
    apply: () => { if (!current()) chosen = null; show(); },
    both: joined,
  });

  const host = {
    items: () => editing.content.boxes,
    describe: (box) => [box.type.replaceAll("_", " "), box.instruction || box.text].filter(Boolean).join(", "),
    add(area) {
      const id = unusedId(editing.content);
      editing.change("", (content) => {
        content.boxes.push({ id, box: area, instruction: "", type: lastType || content.boxes.at(-1)?.type || "button", text: "" });
      });
      return id;
    },
    move: (id, area, how) => editing.change(how && `${how} ${id}`, (content) => { find(content, id).box = area; }),
    remove: (id) => editing.change("", (content) => { content.boxes = content.boxes.filter((box) => box.id !== id); }),
    select: (id) => { chosen = id; show(); },
    open: () => field("instruction").focus(),
    undo: () => editing.undo(),
    redo: () => editing.redo(),
    help: () => editing.help(),
  };
  const stage = new Stage(document.getElementById("stage"), {
    source: place.dataset.picture,
    width: state.size[0],
    height: state.size[1],
    label: `Screenshot ${state.name}`,
    host,
    tools: ["new", "undo", "help"],
  });

  function show() {
    stage.chosen = chosen;
    stage.render();
    stage.undoButton.disabled = !editing.past.length;
    stage.redoButton.disabled = !editing.future.length;
    showList();
    showForm();
  }

  function showList() {
    const list = document.getElementById("list");
    const boxes = editing.content.boxes;
    document.getElementById("count").textContent = boxes.length || "";
    document.getElementById("none").hidden = boxes.length > 0;
    while (list.children.length > boxes.length) list.lastChild.remove();
    boxes.forEach((box, index) => {
      if (!list.children[index]) {
        const button = htmlElement("button", { type: "button" },
          htmlElement("span", { className: "number" }), htmlElement("span", { className: "what" }), htmlElement("span", { className: "kind" }));
        list.append(htmlElement("li", {}, button));
      }
      const button = list.children[index].firstChild;
      const [number, what, kind] = button.children;
      number.textContent = index + 1;
      what.textContent = box.instruction || box.text || "no instruction yet";
      what.classList.toggle("quiet", !box.instruction && !box.text);
      const size = box.box ? `${box.box[2] - box.box[0]} × ${box.box[3] - box.box[1]}` : "not on the screen";
      kind.textContent = `${box.type.replaceAll("_", " ")} · ${size}`;
      button.setAttribute("aria-current", String(box.id === chosen));
      button.onclick = () => { chosen = box.id; stage.choose(box.id, { reveal: true }); show(); };
    });
    // Scroll the list only, not the page.
    const row = list.querySelector("[aria-current=true]")?.parentElement;
    if (!row) return;
    const [inside, all] = [row.getBoundingClientRect(), list.getBoundingClientRect()];
    if (inside.top < all.top) list.scrollTop -= all.top - inside.top;
    else if (inside.bottom > all.bottom) list.scrollTop += inside.bottom - all.bottom;
  }

  function showForm() {
    const box = current();
    form.hidden = !box;
    if (!box) return;
    document.getElementById("form-title").textContent = `Box ${editing.content.boxes.indexOf(box) + 1}`;
    const free = !types.includes(box.type);
    put("instruction", box.instruction);
    put("text", box.text);
    put("type", free ? "" : box.type);
    document.getElementById("free").hidden = !free;
    put("free", free ? box.type.trim() : "");
    field("absent").checked = !box.box;
    document.getElementById("numbers").hidden = !box.box;
    document.getElementById("read").hidden = !box.box;
    const [left, top, right, bottom] = box.box ?? [0, 0, 0, 0];
    Object.entries({ x: left, y: top, w: right - left, h: bottom - top }).forEach(([name, value]) => put(name, value));
  }

  // Leave the focused field alone.
  function put(name, value) {
    if (document.activeElement !== field(name) || String(field(name).value).trim() !== String(value)) field(name).value = value;
  }

  const alter = (step, how) => chosen && editing.change(step && `${step} ${chosen}`, (content) => how(find(content, chosen)));
  for (const name of ["instruction", "text"]) {
    field(name).addEventListener("input", () => alter(name, (box) => { box[name] = field(name).value; }));
  }
  field("type").addEventListener("change", () => {
    const value = field("type").value;
    if (value) { lastType = value; alter("", (box) => { box.type = value; }); return; }
    document.getElementById("free").hidden = false;
    field("free").focus();
  });
  field("free").addEventListener("input", () => {
    lastType = field("free").value.trim();
    if (lastType) alter("free", (box) => { box.type = lastType; });
  });
  field("absent").addEventListener("change", () => {
    if (field("absent").checked) {
      places.set(chosen, current().box);
      alter("", (box) => { box.box = null; });
      return;
    }
    const corner = [0, 0, Math.min(120, state.size[0]), Math.min(40, state.size[1])];
    alter("", (box) => { box.box = places.get(chosen) ?? corner; });
    stage.choose(chosen, { reveal: true });
  });
  for (const name of ["x", "y", "w", "h"]) {
    field(name).addEventListener("change", () => {
      const [x, y, w, h] = ["x", "y", "w", "h"].map((key) => Math.round(field(key).valueAsNumber) || 0);
      const left = clamp(x, 0, state.size[0] - 1);
      const top = clamp(y, 0, state.size[1] - 1);
      alter("", (box) => { box.box = [left, top, clamp(left + w, left + 1, state.size[0]), clamp(top + h, top + 1, state.size[1])]; });
      showForm();
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    stage.choose(chosen, { focus: true, reveal: true });
    event.preventDefault();
  });
  document.getElementById("remove").addEventListener("click", () => stage.remove(chosen));
  document.getElementById("read").addEventListener("click", async (event) => {
    const button = event.currentTarget;
    const id = chosen;
    button.disabled = true;
    button.textContent = "Reading …";
    try {
      const { text } = await studio.send(`/data/${place.dataset.set}/text`, { name: state.name, box: current().box });
      if (text) editing.change("", (content) => { find(content, id).text = text; });
      else studio.say("No text was found in the box.");
    } catch (error) {
      studio.say(error.message.slice(0, 300), true);
    } finally {
      button.textContent = "Read text";
      button.disabled = false;
    }
  });

  // Keys work everywhere except in fields and on controls that use them.
  document.addEventListener("keydown", (event) => {
    const own = event.target.matches("input, textarea, select") || ([" ", "Enter"].includes(event.key) && event.target !== document.body);
    if (!own && !event.defaultPrevented && !document.querySelector("dialog[open]")) stage.key(event);
  });
  show();

  /** Merge two changes of `base`; a box that both changed is there twice. */
  function joined(mine, theirs, base) {
    const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
    const content = { ...theirs, boxes: [] };
    for (const box of theirs.boxes) {
      const [own, before] = [find(mine, box.id), find(base, box.id)];
      if (own || !before || !same(box, before)) content.boxes.push(own && same(box, before) ? own : box);
    }
    for (const box of mine.boxes) {
      const [other, before] = [find(theirs, box.id), find(base, box.id)];
      if (same(box, before) || same(box, other) || same(other, before) && other) continue;
      content.boxes.push({ ...box, id: other ? unusedId(content, mine, theirs) : box.id });
    }
    return content;
  }

  function unusedId(...contents) {
    const taken = new Set(contents.flatMap((content) => content.boxes.map((box) => box.id)));
    let number = taken.size + 1;
    while (taken.has(`box-${number}`)) number += 1;
    return `box-${number}`;
  }
})();
