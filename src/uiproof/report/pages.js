"use strict";
// Cases that are pages: distributions of their scores, and a list with pictures that opens a viewer.

const STEP = 120; // cards added at a time
const BINS = 20;

const imageSource = (number) => byId(`image-${number}`)?.textContent ?? null;

// ---- distributions

function drawDistributions() {
  const absent = [];
  const cards = [];
  data.metrics.forEach((metric, index) => {
    const lists = data.rows.map((_, run) =>
      data.cases.filter((one) => one.run === run).map((one) => one.scores[index]).filter(isNumber));
    if (lists.every((values) => values.length === 0)) {
      absent.push(metric.label);
      return;
    }
    const card = make("figure", { class: "distribution" }, make("figcaption", {}, metric.label));
    const shares = lists.map(histogram);
    const top = Math.max(...shares.flat());
    lists.forEach((values, run) => card.append(strip(values, shares[run], top, run, metric)));
    card.append(make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, "0"), make("span", {}, "0.5"), make("span", {}, "1")));
    cards.push(card);
  });
  byId("distributions").replaceChildren(...cards);
  if (absent.length) byId("distributions").after(make("p", { class: "notes" }, `Not measured: ${absent.join(", ")}.`));
}

function histogram(values) {
  const counts = new Array(BINS).fill(0);
  for (const value of values) counts[Math.min(Math.max(Math.floor(value * BINS), 0), BINS - 1)] += 1;
  return counts.map((count) => (values.length ? count / values.length : 0));
}

function strip(values, shares, top, run, metric) {
  const row = make("div", { class: `strip ${colourOf(run)}` });
  const mean = data.rows[run].cells[data.metrics.indexOf(metric)].mean;
  if (several) row.append(make("span", { class: "strip-name" }, data.rows[run].name));
  if (values.length === 0) {
    row.append(make("p", { class: "absent" }, "not measured"));
    return row;
  }
  const label = `${data.rows[run].name}, ${metric.label}: ${values.length} cases, mean ${shown(mean, metric.digits)}`;
  const chart = draw("svg", { viewBox: "0 0 200 40", preserveAspectRatio: "none", role: "img", "aria-label": label });
  chart.append(draw("rect", { class: "base", x: 0, y: 39, width: 200, height: 1 }));
  shares.forEach((share, bin) => {
    const height = (share / top) * 36;
    if (height === 0) return;
    const bar = draw("rect", { class: "bar", x: bin * 10 + 0.5, y: 39 - height, width: 9, height });
    const title = draw("title");
    title.textContent = `${(bin / BINS).toFixed(2)}–${((bin + 1) / BINS).toFixed(2)}: ${Math.round(share * values.length)} of ${values.length}`;
    bar.append(title);
    chart.append(bar);
  });
  if (isNumber(mean)) chart.append(draw("rect", { class: "mark", x: Math.min(mean * 200, 199) - 0.5, y: 0, width: 1.5, height: 40 }));
  row.append(chart);
  return row;
}

// ---- cases

let listed = []; // indices into data.cases, as filtered and sorted
let visible = STEP;

const lazyImages = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) loadImage(entry.target);
}, { rootMargin: "400px" });

function loadImage(image) {
  lazyImages.unobserve(image);
  image.src ||= imageSource(image.dataset.image) ?? "";
}

function fillControls() {
  const option = (value, label) => make("option", { value }, label);
  byId("run").append(option("", "All"), ...data.rows.map((row, run) => option(run, row.name)));
  byId("run-label").hidden = !several;
  const flags = [...new Set(data.cases.flatMap((one) => one.flags))].sort();
  byId("show").append(option("all", "All"), option("failed", "Failed"), option("scored", "Scored"));
  if (flags.length) byId("show").append(option("flagged", "Flagged"), ...flags.map((flag) => option(`flag:${flag}`, `Flag: ${flag}`)));
  byId("sort").append(option("id", "Case"), ...data.metrics.map((metric, index) => option(index, metric.label)));
  byId("sort").value = data.primary ?? "id";
}

function matchesFilter(one, text, run, show) {
  if (run !== "" && one.run !== Number(run)) return false;
  if ((show === "failed" || show === "scored") && one.status !== show) return false;
  if (show === "flagged" && one.flags.length === 0) return false;
  if (show.startsWith("flag:") && !one.flags.includes(show.slice(5))) return false;
  return !text || [one.id, one.error ?? "", ...one.flags].join("\n").toLowerCase().includes(text);
}

function drawCases() {
  const text = byId("search").value.trim().toLowerCase();
  const [run, show, sort] = ["run", "show", "sort"].map((id) => byId(id).value);
  const value = (index) => (sort === "id" ? data.cases[index].id : data.cases[index].scores[Number(sort)]);
  const down = byId("order").value === "down";
  listed = [...data.cases.keys()].filter((index) => matchesFilter(data.cases[index], text, run, show));
  listed.sort((a, b) => compareValues(value(a), value(b), down) || a - b);
  const failed = listed.filter((index) => data.cases[index].status === "failed").length;
  byId("count").textContent = `${listed.length} of ${data.cases.length} results${failed ? `, ${failed} failed` : ""}`;
  const cards = listed.slice(0, visible).map((index, position) => card(index, position, sort));
  byId("cases").replaceChildren(...cards);
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
  const metric = sort === "id" ? data.primary : Number(sort);
  if (metric !== null) {
    const { label, digits } = data.metrics[metric];
    caption.append(make("span", { class: "score" }, make("small", {}, label), " ", shown(one.scores[metric], digits)));
  }
  button.append(pair, caption);
  const badges = make("span", { class: "badges" });
  if (several) badges.append(make("span", { class: "run-name" }, make("span", { class: `dot ${colourOf(one.run)}` }), data.rows[one.run].name));
  if (one.status === "failed") badges.append(make("span", { class: "badge bad" }, `failed: ${one.error ?? "unknown"}`));
  badges.append(...one.flags.map((flag) => make("span", { class: "badge warn" }, flag)));
  if (badges.childNodes.length) button.append(badges);
  button.addEventListener("click", () => openViewer(position));
  return make("li", {}, button);
}

function thumbnail(one, side) {
  const number = one.images[side];
  if (number === undefined || number === null || imageSource(number) === null) {
    return make("span", { class: "thumbnail none" }, side === "generated" ? "no page" : "no picture");
  }
  const image = make("img", { loading: "lazy", decoding: "async", alt: side, "data-image": number });
  lazyImages.observe(image);
  return make("span", { class: "thumbnail" }, image);
}

drawDistributions();
fillControls();
drawCases();
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("controls").addEventListener("input", () => { visible = STEP; drawCases(); });
byId("more").addEventListener("click", () => { visible += STEP; drawCases(); });
window.addEventListener("beforeprint", () => {
  for (const image of document.querySelectorAll("img[data-image]")) {
    image.loading = "eager";
    loadImage(image);
  }
});
