"use strict";
// The window that shows one case large, and the way from case to case. What it shows is up to the
// view: `openViewer({ count, position, show, back })`, where `show(position)` fills it.

const viewer = byId("viewer");
const stage = byId("stage");
const NARROW = 700; // pixels: two pages do not fit beside each other on a phone
const ZOOMS = [1, 1.5, 2, 3, 4];
const LISTED = 12; // differences at first
const viewing = { count: 0, position: 0, show: null, back: null, mode: null, zoom: 0, linked: "", redraw: () => {} };

function openViewer({ count, position, show, back }) {
  viewing.mode ??= window.innerWidth < NARROW ? "swipe" : "side";
  Object.assign(viewing, { count, show, back });
  showCase(position);
  if (!viewer.open) viewer.showModal();
  stage.focus({ preventScroll: true });
}

function showCase(position) {
  viewing.position = position;
  viewing.show(position);
  byId("viewer-place").textContent = `${position + 1} of ${viewing.count}`;
  byId("previous").disabled = position === 0;
  byId("next").disabled = position === viewing.count - 1;
  stage.scrollTop = 0;
}

function step(by) {
  const position = viewing.position + by;
  if (position >= 0 && position < viewing.count) showCase(position);
}

// The address leads to the case while it is open, so that it can be passed on.
function titleViewer(id, run) {
  byId("viewer-title").textContent = id;
  const names = several ? { case: id, run: data.rows[run].name } : { case: id };
  viewing.linked = `#${new URLSearchParams(names)}`;
  history.replaceState(null, "", viewing.linked);
}

function zoom(by) {
  viewing.zoom = by === 0 ? 0 : Math.min(Math.max(viewing.zoom + by, 0), ZOOMS.length - 1);
  stage.style.setProperty("--zoom", ZOOMS[viewing.zoom]);
  byId("zoom-out").disabled = viewing.zoom === 0;
  byId("zoom-in").disabled = viewing.zoom === ZOOMS.length - 1;
}

// Buttons of which one is chosen, such as the runs that have the case.
function fillSegments(id, choices) {
  byId(id).hidden = choices.length < 2;
  byId(id).replaceChildren(...choices.map(({ label, on, choose }) => {
    const button = make("button", { type: "button", "aria-pressed": on }, label);
    button.addEventListener("click", choose);
    return button;
  }));
}

function markMode() {
  for (const button of byId("viewer-modes").children) button.setAttribute("aria-pressed", button.dataset.mode === viewing.mode);
}

// What is drawn over the pictures. Blocks would hide the marks, so that they are shown on demand
// where there are both; what the reader chooses stays for all cases.
const OPTIONS = { marks: "viewer-marks", blocks: "viewer-blocks", lines: "viewer-lines" };
let optionsChosen = false;

function offerOptions(marks, blocks) {
  const offered = { marks, blocks, lines: blocks };
  for (const [name, id] of Object.entries(OPTIONS)) byId(id).closest("label").hidden = !offered[name];
  byId("viewer-options").hidden = !marks && !blocks;
  if (!optionsChosen) byId("viewer-blocks").checked = byId("viewer-lines").checked = !marks;
  applyOptions();
}

function applyOptions() {
  for (const [name, id] of Object.entries(OPTIONS)) viewer.classList.toggle(`no-${name}`, !byId(id).checked);
}

// Boxes of differences over a picture of a page that is `width` CSS pixels wide.
function addMarks(name, image, sheet, differences, width) {
  if (!differences?.length) return;
  const wide = width ?? image.naturalWidth;
  sheet.append(differenceMarks(name, differences, [wide, (wide * image.naturalHeight) / image.naturalWidth], sheet.clientWidth));
}

// The HTML, the prompts and the answers of a case, as text.
function sourceFacts(texts) {
  return texts.map(([title, text, length]) => make("details", { class: "source" }, make("summary", {}, `${title} (${length.toLocaleString("en")} characters)`),
    make("pre", { dir: "auto", tabindex: 0 }, text)));
}

// The list of differences for the facts; `none` is said of an empty one.
function differenceFacts(differences, none) {
  if (differences === null) return [];
  const title = make("h3", {}, `Differences${differences.length ? ` (${differences.length})` : ""}`);
  if (!differences.length) return [title, make("p", { class: "quiet" }, none)];
  const list = differenceList(differences, (number) => goToDifference(stage, number));
  const rest = [...list.children].slice(LISTED);
  if (!rest.length) return [title, list];
  for (const item of rest) item.hidden = true;
  const more = make("button", { type: "button", class: "quiet-button" }, `Show ${rest.length} more`);
  more.addEventListener("click", () => {
    for (const item of rest) item.hidden = false;
    rest[0].firstChild.focus();
    more.remove();
  });
  return [title, list, more];
}

byId("viewer-options").addEventListener("change", () => { optionsChosen = true; applyOptions(); });
byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
byId("zoom-in").addEventListener("click", () => zoom(1));
byId("zoom-out").addEventListener("click", () => zoom(-1));
byId("close").addEventListener("click", () => viewer.close());
byId("viewer-modes").addEventListener("click", (event) => {
  const { mode } = event.target.dataset;
  if (!mode) return;
  viewing.mode = mode;
  markMode();
  viewing.redraw();
});
viewer.addEventListener("close", () => {
  clearInterval(blinking);
  history.replaceState(null, "", location.pathname + location.search);
  viewing.back?.(viewing.position);
});
viewer.addEventListener("keydown", (event) => {
  if (event.target.matches("input[type=range]") || event.altKey || event.ctrlKey || event.metaKey) return;
  const [act, by] = { ArrowLeft: [step, -1], ArrowRight: [step, 1], "+": [zoom, 1], "-": [zoom, -1], 0: [zoom, 0] }[event.key] ?? [];
  if (act === undefined) return;
  event.preventDefault();
  act(by);
});
zoom(0);
