"use strict";
// All cases at a glance: the main score, warnings, the worst and best cases as pictures, the means of
// all scores and their distributions. `casePicture(place)` and `openCase(place)` are up to the view.

// ---- the main score, and what to know before it is trusted

function rankedRows() {
  const rows = data.rows.map((row, run) => ({ row, run, cell: data.primary === null ? null : row.cells[data.primary] }));
  return rows.sort((a, b) => compareValues(a.cell?.mean, b.cell?.mean, true));
}

function drawHeadline() {
  const ranked = rankedRows();
  const [{ row, cell }] = ranked;
  byId("headline").hidden = !isNumber(cell?.mean);
  if (!isNumber(cell?.mean)) return;
  const { label, digits } = data.metrics[data.primary];
  const interval = (one) => (one.low === null ? `no interval${one.no_interval ? `: ${one.no_interval}` : ""}` : `95 % interval ${boundsText(one, digits)}`);
  const about = make("div", {}, make("p", { class: "headline-name" }, `${label}${several ? ` of ${row.name}, the best of ${data.rows.length} runs` : ""}`),
    make("p", { class: "quiet" }, `${interval(cell)} · ${cell.n === 1 ? "1 case" : `${cell.n.toLocaleString("en")} cases`}${cell.clusters && cell.clusters !== cell.n ? ` on ${cell.clusters === 1 ? "one page or screenshot" : `${cell.clusters.toLocaleString("en")} pages or screenshots`}` : ""}`));
  byId("headline").append(make("p", { class: "headline-number" }, cell.mean.toFixed(digits)), about);
  if (!several) return;
  about.append(make("ul", { class: "headline-runs" }, ...ranked.filter((one) => isNumber(one.cell.mean)).slice(0, 8).map(({ row: one, run, cell: own }) =>
    make("li", { class: colourOf(run) }, make("span", { class: "dot" }), make("span", { class: "strip-name" }, one.name),
      make("strong", {}, `${own.tie ? "≈" : ""}${own.mean.toFixed(digits)}`), own.low === null ? "" : intervalBar(own)))));
}

function drawWarnings() {
  const { warnings } = data.overview;
  byId("warnings").hidden = warnings.length === 0;
  byId("warnings").append(...warnings.map(([run, text]) => make("li", {}, several ? `${data.rows[run].name}: ${text}` : text)));
}

// ---- means of all scores

function drawMeans() {
  // One axis from 0 to 1 for all; means below it are at its left end, with their numbers.
  const shownMetrics = [...data.metrics.keys()].filter((index) => data.metrics[index].bounds[1] === 1 && data.rows.some((row) => isNumber(row.cells[index].mean)));
  byId("means").hidden = shownMetrics.length === 0;
  const figure = byId("means").querySelector("figure");
  if (several) figure.append(make("p", { class: "legend" }, ...data.rows.map((row, run) => make("span", { class: "run-name" }, make("span", { class: `dot ${colourOf(run)}` }), row.name))));
  for (const index of shownMetrics) {
    const { label, digits } = data.metrics[index];
    const at = (value) => `${(2 + 96 * Math.min(Math.max(value, 0), 1)).toFixed(2)}%`;
    const measured = data.rows.flatMap((row, run) => (isNumber(row.cells[index].mean) ? [{ cell: row.cells[index], run }] : []));
    const said = measured.map(({ cell, run }) => `${data.rows[run].name} ${cell.mean.toFixed(digits)}`).join(", ");
    const chart = draw("svg", { height: 12 * measured.length + 8, role: "img", "aria-label": `${label}: ${said}` });
    for (const part of [0, 0.25, 0.5, 0.75, 1]) chart.append(draw("line", { class: "grid", x1: at(part), x2: at(part), y1: 0, y2: "100%" }));
    measured.forEach(({ cell, run }, number) => {
      const y = 12 * number + 10;
      const mark = draw("g", { class: `point ${colourOf(run)}` });
      if (cell.low !== null) mark.append(draw("line", { x1: at(cell.low), x2: at(cell.high), y1: y, y2: y }));
      mark.append(draw("circle", { cx: at(cell.mean), cy: y, r: 4 }), draw("title"));
      mark.lastChild.textContent = `${data.rows[run].name}: ${cell.mean.toFixed(digits)}${cell.low === null ? "" : ` ${boundsText(cell, digits)}`}`;
      chart.append(mark);
    });
    const values = make("span", { class: "means-values" }, ...measured.map(({ cell }) => make("span", {}, cell.mean.toFixed(digits))));
    figure.append(make("div", { class: "means-row" }, make("span", { class: "means-name" }, label), chart, values));
  }
  figure.append(make("div", { class: "means-row axis-row", "aria-hidden": "true" }, make("span", { class: "means-name" }), axis({ metric: 0, bins: [] }), make("span", { class: "means-values" })));
}

// ---- distributions

const WIDTH = 200; // of a histogram, in its own units
const HEIGHT = 40;

function drawDistributions() {
  const { distributions } = data.overview;
  const total = (counts) => counts.reduce((sum, count) => sum + count, 0);
  const measured = distributions.filter(({ counts }) => counts.some((run) => total(run) > 0));
  byId("distributions").replaceChildren(...measured.map((one) => {
    const card = make("figure", { class: "distribution" }, make("figcaption", {}, one.label));
    const shares = one.counts.map((counts) => counts.map((count) => count / Math.max(total(counts), 1)));
    const top = Math.max(...shares.flat());
    shares.forEach((run, number) => card.append(strip(one, number, run, top, total(one.counts[number]))));
    card.append(axis(one));
    return card;
  }));
  const absent = distributions.filter((one) => !measured.includes(one)).map((one) => one.label);
  if (absent.length) byId("distributions").after(make("p", { class: "notes" }, `Not measured: ${absent.join(", ")}.`));
}

function axis({ metric, bins }) {
  const middle = bins[Math.floor(bins.length / 2)];
  const labels = bins.length === 2 ? bins : metric === null ? [bins[0], middle, bins.at(-1)] : ["0", "0.5", "1"];
  return make("div", { class: bins.length === 2 ? "axis each" : "axis", "aria-hidden": "true" }, ...labels.map((label) => make("span", {}, label)));
}

function strip({ label, metric, bins, counts }, run, shares, top, n) {
  const row = make("div", { class: `strip ${colourOf(run)}` });
  if (several) row.append(make("span", { class: "strip-name" }, data.rows[run].name));
  if (n === 0) {
    row.append(make("p", { class: "absent" }, "not measured"));
    return row;
  }
  const mean = metric === null ? null : data.rows[run].cells[metric].mean;
  const said = isNumber(mean) ? `, mean ${shown(mean, data.metrics[metric].digits)}` : "";
  const chart = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": `${data.rows[run].name}, ${label}: ${n} cases${said}` });
  chart.append(draw("rect", { class: "base", x: 0, y: HEIGHT - 1, width: WIDTH, height: 1 }));
  const wide = WIDTH / bins.length;
  const filled = bins.length === 2 ? 0.4 : 0.9; // two bars need not fill it all
  shares.forEach((share, bin) => {
    if (share === 0) return;
    const height = Math.max((share / top) * (HEIGHT - 4), 1);
    const bar = draw("rect", { class: "bar", x: (bin + 0.5 - filled / 2) * wide, y: HEIGHT - 1 - height, width: wide * filled, height });
    const title = draw("title");
    title.textContent = `${bins[bin]}: ${counts[run][bin]} of ${n}`;
    bar.append(title);
    chart.append(bar);
  });
  if (isNumber(mean) && bins.length > 2) chart.append(draw("rect", { class: "mark", x: Math.min(Math.max(mean, 0) * WIDTH, WIDTH - 1) - 0.5, y: 0, width: 1.5, height: HEIGHT }));
  row.append(chart);
  return row;
}

// ---- worst and best

function drawExtremes() {
  const [run, metric] = [Number(byId("extremes-run").value), Number(byId("extremes-metric").value)];
  const found = data.overview.extremes[run][metric];
  for (const kind of ["worst", "best"]) {
    byId(kind).replaceChildren(...found[kind].map(([id, score, place]) => {
      const bar = make("meter", { min: 0, max: 1, value: score, "aria-hidden": "true" });
      const inner = [make("span", { class: "case-id", title: id }, id), bar, make("span", {}, shown(score, data.metrics[metric].digits))];
      if (place === null) return make("li", {}, make("span", { class: "extreme" }, ...inner));
      if (typeof casePicture === "function") inner.unshift(casePicture(place));
      const button = make("button", { type: "button", class: "extreme" }, ...inner);
      button.addEventListener("click", () => openCase(place));
      return make("li", {}, button);
    }));
    if (!found[kind].length) byId(kind).append(make("li", { class: "absent" }, "none"));
    whenComplete(() => showPictures(byId(kind)));
  }
}

function fillExtremes() {
  const option = (value, label) => make("option", { value }, label);
  byId("extremes-run").append(...data.rows.map((row, run) => option(run, row.name)));
  byId("extremes-run").parentElement.hidden = !several;
  byId("extremes-run").value = rankedRows()[0].run;
  const measured = data.metrics.flatMap((metric, index) =>
    (data.overview.extremes.some((run) => run[index].worst.length) ? [option(index, metric.label)] : []));
  byId("extremes").hidden = measured.length === 0;
  if (!measured.length) return;
  byId("extremes-metric").append(...measured);
  if (data.primary !== null) byId("extremes-metric").value = data.primary;
  byId("extremes-form").addEventListener("submit", (event) => event.preventDefault());
  byId("extremes-form").addEventListener("input", drawExtremes);
  drawExtremes();
}

// ---- links to a case: #case=ID, and &run=NAME where there are several

function openLinked() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const id = asked.get("case");
  byId("no-case").hidden = true;
  if (id === null || typeof findCase !== "function" || (viewer.open && viewing.linked === location.hash)) return;
  const run = data.rows.findIndex((row) => row.name === asked.get("run"));
  const place = findCase(id, run < 0 ? null : run);
  byId("no-case").hidden = place !== null;
  if (place === null) byId("no-case").textContent = `This page does not show a case ${id}.`;
  else openCase(place);
}

drawHeadline();
drawWarnings();
fillExtremes();
drawMeans();
drawDistributions();
window.addEventListener("hashchange", openLinked);
whenComplete(openLinked);
