"use strict";
// One case, large: side by side, swipe and blink, with the matched text blocks drawn over the pages.

const viewer = byId("viewer");
const stage = byId("stage");
const WIDE = 1000; // overlays are drawn in units of a thousandth of the page's width
const BLINK_MS = 700;
const TOTALS = ["final", "mean_without_clip"];
const SIDES = ["reference", "generated"];
const view = { position: 0, index: 0, mode: null, timer: null, detail: null, pairs: [], rects: new Map() };

function openViewer(position) {
  view.mode ??= window.innerWidth < 700 ? "swipe" : "side"; // two pages do not fit beside on a phone
  show(listed[position], position);
  if (!viewer.open) viewer.showModal();
  stage.focus({ preventScroll: true });
}

function show(index, position) {
  view.index = index;
  view.position = position;
  view.detail = JSON.parse(byId(`case-${index}`).textContent);
  view.pairs = view.detail.matches.filter(([g, r]) => view.detail.blocks.generated[g] && view.detail.blocks.reference[r]);
  const one = data.cases[index];
  byId("viewer-title").textContent = one.id;
  byId("viewer-place").textContent = `${position + 1} of ${listed.length}`;
  byId("previous").disabled = position === 0;
  byId("next").disabled = position === listed.length - 1;
  const runs = [...data.cases.keys()].filter((i) => data.cases[i].id === one.id);
  byId("viewer-runs").hidden = runs.length < 2;
  byId("viewer-runs").replaceChildren(...runs.map((i) => {
    const button = make("button", { type: "button", "aria-pressed": i === index }, data.rows[data.cases[i].run].name);
    button.addEventListener("click", () => show(i, view.position));
    return button;
  }));
  drawStage();
  drawFacts();
  stage.scrollTop = 0;
}

function step(by) {
  const position = view.position + by;
  if (position >= 0 && position < listed.length) show(listed[position], position);
}

// ---- the two pages

function drawStage() {
  clearInterval(view.timer);
  view.rects.clear();
  for (const button of byId("viewer-modes").children) button.setAttribute("aria-pressed", button.dataset.mode === view.mode);
  viewer.classList.toggle("no-blocks", !byId("viewer-blocks").checked);
  const panes = make("div", { class: `panes ${view.mode}` }, ...SIDES.map(pane));
  stage.replaceChildren(panes);
  if (view.mode === "side") panes.append(draw("svg", { class: "link", "aria-hidden": "true" }));
  if (view.mode === "swipe") addSwipe(panes);
  if (view.mode === "blink") addBlink(panes);
}

function pane(side) {
  const figure = make("figure", { class: `pane ${side}` }, make("figcaption", {}, side === "reference" ? "Reference" : "Generated"));
  const source = imageSource(data.cases[view.index].images[side]);
  if (source === null) {
    figure.append(make("p", { class: "missing" }, side === "generated" ? "There is no picture of a generated page." : "There is no picture of the reference."));
    return figure;
  }
  const image = make("img", { alt: `${side} page` });
  const sheet = make("div", { class: "sheet" }, image);
  image.addEventListener("load", () => sheet.append(overlay(side, image)), { once: true });
  image.src = source;
  figure.append(sheet);
  return figure;
}

function overlay(side, image) {
  const height = (WIDE * image.naturalHeight) / image.naturalWidth;
  const root = draw("svg", { class: "overlay", viewBox: `0 0 ${WIDE} ${height}` });
  const hatch = draw("pattern", { id: `hatch-${side}`, width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    draw("rect", { class: "hatch-ground", width: 9, height: 9 }), draw("rect", { class: "hatch-line", width: 3, height: 9 }));
  root.append(draw("defs", {}, hatch));
  const own = side === "generated" ? 0 : 1;
  view.detail.blocks[side].forEach((block, number) => {
    const [x, y, w, h] = block.box;
    const pair = view.pairs.findIndex((match) => match[own] === number);
    const attributes = { x: x * WIDE, y: y * height, width: w * WIDE, height: h * height, class: pair < 0 ? "block unmatched" : "block matched" };
    const rect = draw("rect", attributes);
    if (pair < 0) rect.setAttribute("fill", `url(#hatch-${side})`);
    else {
      rect.setAttribute("fill", similarityColour(view.pairs[pair][2]));
      rect.setAttribute("stroke", similarityColour(view.pairs[pair][2]));
    }
    const key = pair < 0 ? `${side}-${number}` : `pair-${pair}`;
    rect.addEventListener("pointerenter", () => highlight(key));
    rect.addEventListener("pointerleave", () => highlight(null));
    view.rects.set(key, { ...view.rects.get(key), [side]: rect });
    root.append(rect);
  });
  return root;
}

function similarityColour(similarity) {
  const share = Math.min(Math.max((similarity - 0.5) * 2, 0), 1); // pairs below 0.5 are not matched
  return `hsl(${Math.round(24 + 141 * share)} 85% ${Math.round(44 - 10 * share)}%)`;
}

function highlight(key) {
  for (const rect of stage.querySelectorAll(".block.active")) rect.classList.remove("active");
  const rects = Object.values((key !== null && view.rects.get(key)) || {});
  for (const rect of rects) rect.classList.add("active");
  drawLink(rects);
  drawHover(key);
}

function drawLink(rects) {
  const link = stage.querySelector(".link");
  if (!link) return;
  link.replaceChildren();
  if (rects.length < 2) return;
  const frame = link.getBoundingClientRect();
  const [a, b] = rects.map((rect) => rect.getBoundingClientRect()).sort((p, q) => p.left - q.left);
  link.append(draw("line", {
    x1: a.right - frame.left, y1: a.top + a.height / 2 - frame.top,
    x2: b.left - frame.left, y2: b.top + b.height / 2 - frame.top,
  }));
}

function addSwipe(panes) {
  const slider = make("input", { type: "range", min: 0, max: 100, step: 0.5, value: 50, class: "slider", "aria-label": "How much of the reference is shown" });
  const set = (value) => {
    slider.value = value;
    panes.style.setProperty("--cut", `${slider.value}%`);
  };
  slider.addEventListener("input", () => set(slider.value));
  const drag = (event) => {
    const frame = panes.getBoundingClientRect();
    set(((event.clientX - frame.left) / frame.width) * 100);
  };
  panes.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    panes.setPointerCapture(event.pointerId);
    drag(event);
  });
  panes.addEventListener("pointermove", (event) => panes.hasPointerCapture(event.pointerId) && drag(event));
  panes.append(make("div", { class: "cut", "aria-hidden": "true" }));
  stage.prepend(make("div", { class: "mode-bar" }, make("span", {}, "Reference"), slider, make("span", {}, "Generated")));
  set(50);
}

function addBlink(panes) {
  const name = make("strong", { class: "blink-name" });
  const toggle = (generated) => {
    panes.classList.toggle("second", generated);
    name.textContent = panes.classList.contains("second") ? "Generated" : "Reference";
  };
  const pause = make("button", { type: "button" });
  const run = (on) => {
    clearInterval(view.timer);
    view.timer = on ? setInterval(() => toggle(), BLINK_MS) : null;
    pause.textContent = on ? "Pause" : "Play";
  };
  const swap = make("button", { type: "button" }, "Switch");
  pause.addEventListener("click", () => run(view.timer === null));
  swap.addEventListener("click", () => { run(false); toggle(); });
  stage.prepend(make("div", { class: "mode-bar" }, name, pause, swap));
  toggle(false);
  run(!window.matchMedia("(prefers-reduced-motion: reduce)").matches);
}

// ---- what is known about the case

function drawFacts() {
  const { detail, pairs } = view;
  const one = data.cases[view.index];
  const facts = [];
  if (detail.error) {
    const { code, stage: where, message, remedy } = detail.error;
    const box = make("div", { class: "error" }, make("h3", {}, `Failed: ${code} (${where})`), make("p", {}, message));
    if (remedy) box.append(make("p", { class: "remedy" }, remedy));
    facts.push(box);
  }
  facts.push(scoreTable(detail.scores));
  if (one.flags.length) facts.push(make("p", { class: "badges" }, ...one.flags.map((flag) => make("span", { class: "badge warn" }, flag))));
  const { reference, generated } = detail.blocks;
  if (reference.length || generated.length) {
    const counts = `${pairs.length} matched, ${reference.length - pairs.length} only in the reference, ${generated.length - pairs.length} only in the generated page`;
    facts.push(make("h3", {}, `Text blocks${detail.profile ? ` (${detail.profile} profile)` : ""}`), make("p", {}, counts), legend(),
      make("div", { id: "hover", class: "hover", "aria-live": "polite" }), blockTable());
  }
  const seconds = Object.entries(detail.seconds).map(([name, taken]) => `${name} ${taken.toFixed(2)} s`);
  if (seconds.length) facts.push(make("p", { class: "quiet" }, seconds.join(" · ")));
  byId("facts").replaceChildren(...facts);
  drawHover(null);
}

function scoreTable(scores) {
  const profiles = Object.keys(scores).filter((name) => scores[name] !== null && typeof scores[name] === "object");
  const isTotal = (name) => TOTALS.includes(name);
  const names = [...new Set(profiles.flatMap((profile) => Object.keys(scores[profile])))];
  names.sort((a, b) => isTotal(a) - isTotal(b)); // stable: parts first, what they add up to last
  const cell = (value, known) => make("td", { class: isNumber(value) ? "" : "absent" }, known ? shown(value, 3) : "–");
  const rows = names.map((name) => make("tr", { class: isTotal(name) ? "total" : "" },
    make("th", { scope: "row" }, name.replaceAll("_", " ")), ...profiles.map((profile) => cell(scores[profile][name], name in scores[profile]))));
  for (const [name, value] of Object.entries(scores)) {
    if (profiles.includes(name)) continue;
    const wide = cell(value, true);
    wide.colSpan = Math.max(profiles.length, 1);
    rows.push(make("tr", { class: "total" }, make("th", { scope: "row" }, name.replaceAll("_", " ")), wide));
  }
  const head = make("tr", {}, make("th", { scope: "col" }, "Score"), ...profiles.map((profile) => make("th", { scope: "col" }, profile)));
  return make("table", { class: "scores" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

function legend() {
  return make("p", { class: "legend" }, make("span", {}, "similarity 0.5"), make("span", { class: "ramp" }), make("span", {}, "1"),
    make("span", { class: "hatched" }), make("span", {}, "unmatched"));
}

function blockOf(key) {
  const [kind, number] = key.split("-");
  if (kind !== "pair") return { [kind]: view.detail.blocks[kind][number] };
  const [g, r, similarity, position, color] = view.pairs[number];
  return { generated: view.detail.blocks.generated[g], reference: view.detail.blocks.reference[r], similarity, position, color };
}

function drawHover(key) {
  const box = byId("hover");
  if (!box) return;
  if (key === null) {
    box.replaceChildren(make("p", { class: "quiet" }, "Point at a block to see both texts and their scores."));
    return;
  }
  const block = blockOf(key);
  const text = (side, label) => make("p", {}, make("small", {}, label), block[side]
    ? make("q", {}, block[side].text) : make("em", {}, "no match"));
  const list = make("p", { class: "pair-scores" });
  for (const name of ["similarity", "position", "color"]) {
    if (isNumber(block[name])) list.append(make("span", {}, `${name} `, make("b", {}, block[name].toFixed(3))));
  }
  box.replaceChildren(text("reference", "Reference"), text("generated", "Generated"), list);
}

function blockTable() {
  const keys = view.pairs.map((_, number) => `pair-${number}`);
  SIDES.forEach((side, own) => view.detail.blocks[side].forEach((_, number) => {
    if (!view.pairs.some((match) => match[1 - own] === number)) keys.push(`${side}-${number}`);
  }));
  const body = make("tbody", {}, ...keys.map((key) => {
    const block = blockOf(key);
    const row = make("tr", {}, make("td", {}, block.reference?.text ?? "–"), make("td", {}, block.generated?.text ?? "–"),
      make("td", {}, isNumber(block.similarity) ? block.similarity.toFixed(2) : "–"));
    row.addEventListener("pointerenter", () => highlight(key));
    row.addEventListener("pointerleave", () => highlight(null));
    return row;
  }));
  const head = make("tr", {}, ...["Reference", "Generated", "Alike"].map((label) => make("th", { scope: "col" }, label)));
  return make("details", { class: "all-blocks" }, make("summary", {}, "All blocks"), make("table", {}, make("thead", {}, head), body));
}

// ---- controls

byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("close").addEventListener("click", () => viewer.close());
byId("viewer-blocks").addEventListener("change", (event) => viewer.classList.toggle("no-blocks", !event.target.checked));
byId("viewer-modes").addEventListener("click", (event) => {
  const { mode } = event.target.dataset;
  if (mode) { view.mode = mode; drawStage(); }
});
viewer.addEventListener("close", () => {
  clearInterval(view.timer);
  document.querySelector(`.card[data-case="${listed[view.position]}"]`)?.focus();
});
viewer.addEventListener("keydown", (event) => {
  if (event.target.matches("input[type=range]") || event.altKey || event.ctrlKey || event.metaKey) return;
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  step(by);
});
