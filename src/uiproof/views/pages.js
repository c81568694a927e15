"use strict";
// Cases that are pages: a list with pictures that opens a viewer.

const STEP = 24; // cards added at a time

// ---- cases

let listed = []; // indices into data.cases, as filtered and sorted
let visible = STEP;

function fillControls() {
  const option = (value, label) => make("option", { value }, label);
  byId("run").append(option("", "All"), ...data.rows.map((row, run) => option(run, row.name)));
  byId("run-label").hidden = !several;
  const flags = [...new Set(data.cases.flatMap((one) => one.flags))].sort();
  byId("show").append(option("all", "All"), option("failed", "Failed"), option("scored", "Scored"));
  if (flags.length) byId("show").append(option("flagged", "Flagged"), ...flags.map((flag) => option(`flag:${flag}`, `Flag: ${flag}`)));
  byId("sort").append(option("id", "Case"), ...data.metrics.map((metric, index) => option(index, metric.label)));
  if (data.rows.length === 2 && data.primary !== null) byId("sort").append(option("difference", "Difference of the runs"));
  byId("sort").value = data.primary ?? "id";
}

function matchesFilter(one, text, run, show) {
  if (run !== "" && one.run !== Number(run)) return false;
  if ((show === "failed" || show === "scored") && one.status !== show) return false;
  if (show === "flagged" && one.flags.length === 0) return false;
  if (show.startsWith("flag:") && !one.flags.includes(show.slice(5))) return false;
  return !text || [one.id, one.error ?? "", ...one.flags].join("\n").toLowerCase().includes(text);
}

// By how much the second run scores more on a case than the first; null where one has no score.
const rises = new Map();

function rise(id) {
  if (!rises.size) {
    const scores = [0, 1].map((run) => new Map(data.cases.filter((one) => one.run === run).map((one) => [one.id, one.scores[data.primary]])));
    for (const [id, before] of scores[0]) {
      const after = scores[1].get(id) ?? null;
      rises.set(id, before === null || after === null ? null : after - before);
    }
  }
  return rises.get(id) ?? null;
}

function valueOf(one, sort) {
  if (sort === "id") return one.id;
  return sort === "difference" ? rise(one.id) : one.scores[Number(sort)];
}

function drawCases() {
  const text = byId("search").value.trim().toLowerCase();
  const [run, show, sort] = ["run", "show", "sort"].map((id) => byId(id).value);
  const value = (index) => valueOf(data.cases[index], sort);
  const down = byId("order").value === "down";
  listed = [...data.cases.keys()].filter((index) => matchesFilter(data.cases[index], text, run, show));
  listed.sort((a, b) => compareValues(value(a), value(b), down) || a - b);
  const failed = listed.filter((index) => data.cases[index].status === "failed").length;
  byId("count").textContent = `${listed.length} of ${data.cases.length} results${failed ? `, ${failed} failed` : ""}`;
  const cards = listed.slice(0, visible).map((index, position) => card(index, position, sort));
  byId("cases").replaceChildren(...cards);
  whenComplete(() => showPictures(byId("cases")));
  const rest = listed.length - cards.length;
  byId("more").hidden = rest === 0;
  byId("more").textContent = `Show ${Math.min(rest, STEP)} more`;
}

function card(index, position, sort) {
  const one = data.cases[index];
  const button = make("button", { type: "button", class: "card", "data-case": index });
  const pair = make("span", { class: "pair" });
  for (const side of ["reference", "generated"]) pair.append(thumbnail(one, side));
  const caption = make("span", { class: "caption" }, make("span", { class: "case-id", title: one.id }, one.id));
  const metric = sort === "id" || sort === "difference" ? data.primary : Number(sort);
  if (metric !== null) {
    const { label, digits } = data.metrics[metric];
    caption.append(make("span", { class: "score" }, make("small", {}, label), " ", shown(one.scores[metric], digits)));
    const more = sort === "difference" ? rise(one.id) : null;
    if (more !== null) caption.append(make("span", { class: "score" }, ` (${more > 0 ? "+" : ""}${more.toFixed(digits)})`));
  }
  button.append(pair, caption);
  const badges = make("span", { class: "badges" });
  if (several) badges.append(make("span", { class: "run-name" }, make("span", { class: `dot ${colourOf(one.run)}` }), data.rows[one.run].name));
  if (one.status === "failed") badges.append(make("span", { class: "badge bad" }, `failed: ${one.error ?? "unknown"}`));
  badges.append(...one.flags.map((flag) => make("span", { class: "badge warn" }, flag)));
  if (badges.childNodes.length) button.append(badges);
  button.addEventListener("click", () => openListed(position));
  return make("li", {}, button);
}

// For the lists of the worst and best, and for links.
function casePicture(place) {
  return make("span", { class: "pair" }, ...["reference", "generated"].map((side) => thumbnail(data.cases[place], side)));
}

function findCase(id, run) {
  const place = data.cases.findIndex((one) => one.id === id && (run === null || one.run === run));
  return place < 0 ? null : place;
}

function thumbnail(one, side) {
  if (!one.images[side]) return make("span", { class: "thumbnail none" }, side === "generated" ? "no page" : "no picture");
  return make("span", { class: "thumbnail" }, make("img", { decoding: "async", alt: side, "data-picture": one.images[side][1] }));
}

fillControls();
drawCases();
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("controls").addEventListener("input", () => { visible = STEP; drawCases(); });
byId("more").addEventListener("click", () => { visible += STEP; drawCases(); });
