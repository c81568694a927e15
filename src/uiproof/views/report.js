"use strict";
// The page around the cases: leaderboard, how it was run. Text from runs is untrusted: it
// only ever becomes a text node or the value of an attribute that cannot run anything.

const data = JSON.parse(document.getElementById("index").textContent);
const several = data.rows.length > 1;
const COLOURS = 8; // run colours in the style sheet
const LONGEST_WORD = 12; // letters of a name that stay together

const colourOf = (run) => `run-${run % COLOURS}`;

// ---- pictures: in this page, or where a server makes them; shown when they are about to be seen

const pictureSource = (number) =>
  data.pictures === null ? (byId(`picture-${number}`)?.textContent ?? null) : `${data.pictures}/${number}`;

const frameOf = (picture) => picture.closest("svg") ?? picture; // only what has a box can be observed
const aboutToBeSeen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    aboutToBeSeen.unobserve(target);
    for (const picture of target.matches("svg") ? target.querySelectorAll("[data-picture]") : [target]) loadPicture(picture);
  }
}, { rootMargin: "400px" });

function loadPicture(picture) {
  const source = pictureSource(picture.dataset.picture);
  const name = picture instanceof SVGElement ? "href" : "src";
  if (picture.hasAttribute(name)) return;
  if (source === null) pictureMissing(picture);
  else {
    picture.addEventListener("error", () => pictureMissing(picture), { once: true });
    picture.setAttribute(name, source);
  }
}

function pictureMissing(picture) {
  const frame = frameOf(picture);
  frame.parentElement?.classList.add("none");
  if (frame === picture) picture.replaceWith("no picture");
}

function showPictures(root) {
  for (const picture of root.querySelectorAll("[data-picture]")) aboutToBeSeen.observe(frameOf(picture));
}

// Pictures come last in the file, so that everything else is there at once.
const whenComplete = (act) => (document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", act) : act());

window.addEventListener("beforeprint", () => document.querySelectorAll("[data-picture]").forEach(loadPicture));

// ---- leaderboard

const board = { column: data.primary === null ? "name" : data.primary, down: true };

function boardValue(row, column) {
  return isNumber(column) ? row.cells[column].mean : row[column];
}

function compareValues(a, b, down) {
  const missing = (value) => value === null || value === undefined;
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b)); // always last
  const order = typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
  return down ? -order : order;
}

function drawBoard() {
  const columns = [
    ["name", "Method"], ["n", "n"], ["clusters", "Clusters"], ["failed", "Failed"],
    ...data.metrics.map((metric, index) => [index, metric.label]),
  ];
  const head = make("tr");
  for (const [column, label] of columns) {
    const active = board.column === column;
    const button = make("button", { type: "button" }, label);
    button.append(make("span", { class: "arrow", "aria-hidden": "true" }, active ? (board.down ? "↓" : "↑") : ""));
    button.addEventListener("click", () => {
      board.down = active ? !board.down : column !== "name";
      board.column = column;
      drawBoard();
      byId("leaderboard").querySelectorAll("th button")[columns.findIndex(([c]) => c === column)].focus();
    });
    const sort = active ? (board.down ? "descending" : "ascending") : "none";
    head.append(make("th", { scope: "col", "aria-sort": sort }, button));
  }
  const rows = [...data.rows].sort((a, b) =>
    compareValues(boardValue(a, board.column), boardValue(b, board.column), board.down));
  byId("leaderboard").tHead.replaceChildren(head);
  byId("leaderboard").tBodies[0].replaceChildren(...rows.map(boardRow));
}

function boardRow(row) {
  const named = make("span", { class: "named" });
  if (several) named.append(make("span", { class: "dot" }));
  named.append(make("span", { class: "name" }, ...breakable(row.name)));
  const name = make("th", { scope: "row" }, named);
  if (row.assisted) name.append(make("span", { class: "badge", title: "This method was given the truth" }, "assisted"));
  if (row.running) name.append(make("span", { class: "badge warn running" }, soFar(row.n, row.total)));
  else if (!row.complete) name.append(make("span", { class: "badge warn" }, "unfinished"));
  const failed = make("td", { class: row.failed ? "bad" : "" }, row.failed);
  return make("tr", { class: several ? colourOf(data.rows.indexOf(row)) : "" }, name, make("td", {}, row.n), make("td", {}, row.clusters ?? ""), failed,
    ...row.cells.map((cell, index) => boardCell(cell, data.metrics[index])));
}

// A long name may be broken after these marks, and a word that no column has room for into equal parts.
function breakable(name) {
  const parts = name.split(/(?<=[:@/_])(?=[^:@/_-]{3})/).flatMap((word) => {
    const size = Math.ceil(word.length / Math.ceil(word.length / LONGEST_WORD));
    return /[-\s]/.test(word) ? [word] : (word.match(new RegExp(`.{1,${size}}`, "gsu")) ?? []);
  });
  return parts.flatMap((part, index) => (index ? [make("wbr"), part] : [part]));
}

function soFar(n, total) {
  return `running, ${n}${isNumber(total) ? ` of ${total}` : ""} so far`;
}

function boardCell(cell, metric) {
  if (cell.mean === null) return make("td", { class: "absent", title: cell.note }, "not measured");
  const mean = make(cell.best ? "strong" : "span", { class: "mean" }, cell.mean.toFixed(metric.digits));
  if (cell.tie) {
    const mark = make("abbr", { class: "tie", title: "Cannot be told apart from the best (paired permutation test, p at least 0.05)" }, "≈");
    mean.prepend(mark);
  }
  const clusters = cell.clusters ? `${cell.clusters} clusters` : "";
  const none = cell.no_interval ? `no interval: ${cell.no_interval}` : "";
  const title = [`n = ${cell.n}`, clusters, none, cell.note].filter(Boolean).join(", ");
  const element = make("td", { title }, mean);
  if (cell.low !== null) {
    element.append(make("span", { class: "range" }, boundsText(cell, metric.digits)), intervalBar(cell));
  }
  return element;
}

// More digits where both bounds would look the same, as an interval has a width.
function boundsText(cell, digits) {
  const texts = (places) => [cell.low, cell.high].map((bound) => bound.toFixed(places));
  let places = digits;
  while (texts(places)[0] === texts(places)[1] && cell.low !== cell.high && places < 12) places += 1;
  return `[${texts(places).join(", ")}]`;
}

function intervalBar(cell) {
  const at = (value) => Math.min(Math.max(value, 0), 1) * 100;
  const low = at(cell.low);
  return draw("svg", { class: "interval", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { class: "track", x: 0, y: 2.5, width: 100, height: 1 }),
    draw("rect", { class: "span", x: low, y: 1.5, width: Math.max(at(cell.high) - low, 1), height: 3 }),
    draw("rect", { class: "tick", x: at(cell.mean) - 0.75, y: 0, width: 1.5, height: 6 }));
}

// ---- how it was run

function drawRuns() {
  byId("runs").replaceChildren(...data.runs.map((run, index) => {
    const list = make("dl");
    const add = (name, value) => {
      if (value === null || value === undefined || value === "") return;
      if (typeof value === "object") {
        for (const [inner, deeper] of Object.entries(value)) add(`${name}.${inner}`, deeper);
      } else list.append(make("dt", {}, name), make("dd", {}, value));
    };
    for (const [name, value] of Object.entries(run)) add(name, value);
    return make("details", {}, make("summary", {}, data.rows[index].name), list);
  }));
}

const datasets = [...new Set(data.rows.map((row) => row.dataset))].filter(Boolean).join(", ");
byId("subtitle").textContent = [datasets, `${data.rows.length} ${several ? "runs" : "run"}`, `${data.results} results`].filter(Boolean).join(" · ");
byId("notes").append(...data.notes.map((note) => make("li", {}, note)));
drawBoard();
drawRuns();
whenComplete(() => showPictures(document));
