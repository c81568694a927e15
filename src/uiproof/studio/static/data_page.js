"use strict";
// The editor of interactions: one at a time, with its screenshots before and after.

(function start() {
  const place = document.getElementById("editor");
  if (!place) return;
  const state = JSON.parse(place.dataset.state);
  const form = document.getElementById("form");
  const topic = document.getElementById("topic");
  const field = (name) => form.elements[name];
  const stages = {};
  let chosen = state.content.interactions[0]?.id ?? null;

  const HELP = {
    type: "The text to type.",
    select: "The label of the option.",
    drag: "How far, in pixels: dx,dy.",
    scroll: "How far, in pixels: dx,dy.",
    key: "The name of the key, such as Enter.",
  };

  const find = (content, id = chosen) => content.interactions.find((one) => one.id === id);
  const editing = new Editing({ address: `/data/${place.dataset.set}/interactions`, state, apply: show });
  const alter = (step, how) => editing.change(step && `${step} ${chosen}`, (content) => how(find(content)));

  /** The stage of one side has at most one box: drawing another one replaces it. */
  function hostOf(name) {
    return {
      items: () => [{ id: name, box: find(editing.content)[name] }],
      describe: () => name,
      add(box) { alter("", (one) => { one[name] = box; }); return name; },
      move: (id, box, how) => alter(how && `${how} ${name}`, (one) => { one[name] = box; }),
      remove: () => alter("", (one) => { one[name] = null; }),
      select: () => {},
      open: () => field("sentence").focus(),
      undo: () => editing.undo(),
      redo: () => editing.redo(),
      help: () => editing.help(),
    };
  }

  function choose(id) {
    chosen = id;
    const nodes = state.nodes[id];
    [["before", "trigger"], ["after", "effect"]].forEach(([side, name], index) => {
      const where = document.getElementById(side);
      const size = state.sizes[nodes[index]];
      stages[name] = null;
      if (!size) {
        where.className = "panel missing";
        where.textContent = `The screenshot ${nodes[index]}.png is missing or cannot be read.`;
        return;
      }
      stages[name] = new Stage(where, {
        source: `${place.dataset.picture}&node=${encodeURIComponent(nodes[index])}`,
        width: size[0],
        height: size[1],
        label: `Screenshot ${side}`,
        host: hostOf(name),
        tools: index ? ["new", "help"] : ["new", "undo"],
        numbered: false,
      });
      const box = find(editing.content)[name];
      if (box) stages[name].reveal(box);
    });
    show();
  }

  function show() {
    const one = find(editing.content);
    showChoices();
    if (document.activeElement !== topic) topic.value = editing.content.topic;
    if (!one) { form.hidden = true; return; }
    for (const stage of Object.values(stages)) stage?.render();
    const undo = stages.trigger ?? {};
    if (undo.undoButton) undo.undoButton.disabled = !editing.past.length;
    if (undo.redoButton) undo.redoButton.disabled = !editing.future.length;
    put("kind", one.kind);
    put("value", one.value ?? "");
    put("sentence", one.sentence);
    put("description", one.description);
    field("value").placeholder = HELP[one.kind] ?? "nothing more to say";
    for (const name of ["tags", "visuals"]) {
      for (const box of form.querySelectorAll(`input[name=${name}]`)) box.checked = one[name].includes(box.value);
    }
    form.classList.toggle("is-removed", one.removed);
    document.getElementById("removed").hidden = !one.removed;
    document.getElementById("remove").textContent = one.removed ? "Restore interaction" : "Remove interaction";
    const after = editing.content.interactions.filter(
      (other) => !other.removed && other.id !== one.id && state.nodes[other.id][0] === state.nodes[one.id][1] && state.nodes[one.id][1] !== state.nodes[one.id][0]);
    document.getElementById("stranded").textContent = after.length
      ? `Interaction ${after.map((other) => other.id).join(", ")} starts from what this one leads to.` : "";
  }

  function showChoices() {
    const list = document.getElementById("choices");
    const interactions = editing.content.interactions;
    interactions.forEach((one, index) => {
      if (!list.children[index]) list.append(htmlElement("li", {}, htmlElement("button", { type: "button" })));
      const button = list.children[index].firstChild;
      button.textContent = `${one.id}  ${one.sentence || one.kind}`;
      button.title = one.sentence;
      button.classList.toggle("removed", one.removed);
      button.setAttribute("aria-current", String(one.id === chosen));
      button.onclick = () => choose(one.id);
    });
  }

  // Leave the focused field alone.
  function put(name, value) {
    if (document.activeElement !== field(name) || field(name).value.trim() !== value) field(name).value = value;
  }

  for (const name of ["sentence", "description"]) {
    field(name).addEventListener("input", () => alter(name, (one) => { one[name] = field(name).value; }));
  }
  field("value").addEventListener("input", () => alter("value", (one) => { one.value = field("value").value || null; }));
  field("kind").addEventListener("change", () => alter("", (one) => { one.kind = field("kind").value; }));
  for (const name of ["tags", "visuals"]) {
    document.getElementById(name).addEventListener("change", () => alter("", (one) => {
      one[name] = [...form.querySelectorAll(`input[name=${name}]:checked`)].map((box) => box.value);
    }));
  }
  topic.addEventListener("input", () => editing.change("topic", (content) => { content.topic = topic.value; }));
  document.getElementById("remove").addEventListener("click", () => alter("", (one) => { one.removed = !one.removed; }));
  form.addEventListener("submit", (event) => event.preventDefault());
  if (chosen === null) show(); else choose(chosen);
})();
