"use strict";
// One pair of pages, large, with what is different marked on both, or with the text blocks drawn over
// them and lines between those that match.

const WIDE = 1000; // overlays are drawn in units of a thousandth of the page's width
const TOTALS = ["final", "mean_without_clip"];
const SIDES = ["reference", "generated"];
const view = { index: 0, screen: 0, detail: null, pairs: [], rects: new Map(), panes: null };

function openListed(position) {
  const shownCases = listed;
  openViewer({
    count: shownCases.length,
    position,
    show: (at) => showPages(shownCases[at]),
    back: (at) => document.querySelector(`.card[data-case="${shownCases[at]}"]`)?.focus(),
  });
}

// Called by the list of the worst and best.
function openCase(index) {
  if (!listed.includes(index)) {
    byId("controls").reset();
    byId("sort").value = data.primary ?? "id";
    drawCases();
  }
  openListed(listed.indexOf(index));
}

// `screen` is one of those that the page was compared on; differences and blocks are known for the first.
function showPages(index, screen = 0) {
  view.index = index;
  view.screen = screen;
  view.detail = JSON.parse(byId(`case-${index}`).textContent);
  if (screen > 0) Object.assign(view.detail, { blocks: { reference: [], generated: [] }, matches: [], differences: null });
  view.pairs = view.detail.matches.filter(([g, r]) => view.detail.blocks.generated[g] && view.detail.blocks.reference[r]);
  const { id, run, screens } = data.cases[index];
  titleViewer(id, run);
  const runs = [...data.cases.keys()].filter((i) => data.cases[i].id === id);
  fillSegments("viewer-choices", [
    ...runs.map((i) => ({ label: data.rows[data.cases[i].run].name, on: i === index, choose: () => showPages(i, screen) })),
    ...screens.map(([label], number) => ({ label, on: number === screen, choose: () => showPages(index, number) })),
  ]);
  markMode();
  offerOptions(view.detail.differences !== null, view.detail.blocks.reference.length > 0);
  drawStage();
  drawFacts();
}

// ---- the two pages

viewing.redraw = drawStage;

function drawStage() {
  view.rects.clear();
  const { images: first, screens } = data.cases[view.index];
  const images = screens[view.screen]?.[1] ?? first;
  const sides = SIDES.map((name) => ({
    name,
    label: name === "reference" ? "Reference" : "Generated",
    source: images[name] ? pictureSource(images[name][0]) : null,
    missing: name === "generated" ? "There is no picture of a generated page." : "There is no picture of the reference.",
  }));
  view.panes = drawComparison(stage, viewing.mode, sides, (name, image, sheet) => {
    sheet.append(overlay(name, image));
    addMarks(name, image, sheet, view.detail.differences, view.detail.widths[name]);
    drawLinks();
  });
  if (viewing.mode === "side") view.panes.append(draw("svg", { class: "links", "aria-hidden": "true" }));
  resized.disconnect();
  resized.observe(view.panes);
}

const resized = new ResizeObserver(() => drawLinks());

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
  for (const shape of stage.querySelectorAll(".active")) shape.classList.remove("active");
  if (key !== null) {
    for (const rect of Object.values(view.rects.get(key) ?? {})) rect.classList.add("active");
    const link = stage.querySelector(`.links [data-key="${key}"]`);
    link?.classList.add("active");
    link?.parentElement.append(link); // above the others
  }
  drawHover(key);
}

// A line from each block to its match, and how alike their texts are.
function drawLinks() {
  const links = stage.querySelector(".links");
  if (!links) return;
  const frame = links.getBoundingClientRect();
  const lines = [];
  view.pairs.forEach(([, , similarity], number) => {
    const { reference, generated } = view.rects.get(`pair-${number}`) ?? {};
    if (!reference || !generated) return;
    const [a, b] = [reference, generated].map((rect) => rect.getBoundingClientRect());
    const [x1, x2] = [a.right - frame.left, b.left - frame.left];
    const [y1, y2] = [a, b].map((box) => box.top + box.height / 2 - frame.top);
    const score = draw("text", { x: x2 - 4, y: y2 + 4, "text-anchor": "end" });
    score.textContent = similarity.toFixed(2);
    const line = draw("line", { x1, y1, x2, y2, stroke: similarityColour(similarity) });
    lines.push(draw("g", { "data-key": `pair-${number}` }, line, score));
  });
  links.replaceChildren(...lines);
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
  if (data.primary !== null && isNumber(one.scores[data.primary])) {
    const { label, digits } = data.metrics[data.primary];
    facts.push(make("p", { class: "case-score" }, `${label} `, make("strong", {}, one.scores[data.primary].toFixed(digits))));
  }
  facts.push(...differenceFacts(detail.differences, "The pages look the same."));
  const { viewports, ...scores } = detail.scores;
  const name = one.screens[view.screen]?.[0];
  if (viewports?.[name]) facts.push(make("h3", {}, `On ${name}`), scoreTable(viewports[name]), make("h3", {}, "Mean of all screens"));
  facts.push(scoreTable(scores));
  if (one.flags.length) facts.push(make("p", { class: "badges" }, ...one.flags.map((flag) => make("span", { class: "badge warn" }, flag))));
  const { reference, generated } = detail.blocks;
  if (reference.length || generated.length) {
    const counts = `${pairs.length} matched, ${reference.length - pairs.length} only in the reference, ${generated.length - pairs.length} only in the generated page`;
    facts.push(make("h3", {}, `Text blocks${detail.profile ? ` (${detail.profile} profile)` : ""}`), make("p", {}, counts), legend(),
      make("div", { id: "hover", class: "hover", "aria-live": "polite" }), blockTable());
  }
  facts.push(...sourceFacts(detail.texts));
  facts.push(...detail.requests.flatMap(requestFacts));
  const seconds = Object.entries(detail.seconds).map(([name, taken]) => `${name} ${taken.toFixed(2)} s`);
  if (seconds.length) facts.push(make("p", { class: "quiet" }, seconds.join(" · ")));
  byId("facts").replaceChildren(...facts);
  drawHover(null);
}

// What a page asked of other hosts with the outcome, and the errors of its scripts.
function requestFacts({ side, groups, errors }) {
  const item = ([kind, address, note]) => make("li", { dir: "auto" }, `${kind} ${address}${note ? ` (${note})` : ""}`);
  const list = (title, items) => make("details", {}, make("summary", {}, `${title} (${items.length})`), make("ul", { class: "requests" }, ...items));
  const parts = groups.map(({ outcome, files }) => list(outcome, files.map(item)));
  if (errors.length) parts.push(list("Script errors", errors.map((text) => make("li", { dir: "auto" }, text))));
  return parts.length ? [make("h3", {}, `What the ${side} page asked for`), ...parts] : [];
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
