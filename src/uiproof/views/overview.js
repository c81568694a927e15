"use strict";
// All cases at a glance: the distribution of each score, and the worst and best cases by one of them.

const WIDTH = 200; // of a histogram, in its own units
const HEIGHT = 40;

// ---- distributions

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
      const inner = [make("span", { class: "case-id" }, id), bar, make("span", {}, shown(score, data.metrics[metric].digits))];
      if (place === null) return make("li", {}, make("span", { class: "extreme" }, ...inner));
      const button = make("button", { type: "button", class: "extreme" }, ...inner);
      button.addEventListener("click", () => openCase(place));
      return make("li", {}, button);
    }));
    if (!found[kind].length) byId(kind).append(make("li", { class: "absent" }, "none"));
  }
}

function fillExtremes() {
  const option = (value, label) => make("option", { value }, label);
  byId("extremes-run").append(...data.rows.map((row, run) => option(run, row.name)));
  byId("extremes-run").parentElement.hidden = !several;
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

drawDistributions();
fillExtremes();
