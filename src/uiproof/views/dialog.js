"use strict";
// The window that shows one case large, and the way from case to case. What it shows is up to the
// view: `openViewer({ count, position, show, back })`, where `show(position)` fills it.

const viewer = byId("viewer");
const stage = byId("stage");
const NARROW = 700; // pixels: two pages do not fit beside each other on a phone
const viewing = { count: 0, position: 0, show: null, back: null, mode: null, redraw: () => {} };

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

function titleViewer(title) {
  byId("viewer-title").textContent = title;
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

byId("previous").addEventListener("click", () => step(-1));
byId("next").addEventListener("click", () => step(1));
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
  viewing.back?.(viewing.position);
});
viewer.addEventListener("keydown", (event) => {
  if (event.target.matches("input[type=range]") || event.altKey || event.ctrlKey || event.metaKey) return;
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  step(by);
});
