"use strict";
// The page of `uiproof diff`: pairs of pages with what is different. With `--watch` it asks for the
// next state, which the server answers when there is one.

const state = JSON.parse(byId("data").textContent);
const NARROW = 700; // pixels: two pages do not fit beside each other on a phone
const SIDES = ["reference", "generated"];
const hidden = new Set(); // kinds
const view = { at: 0, mode: window.innerWidth < NARROW ? "swipe" : "side" };
const stage = byId("stage");

const current = () => state.cases[view.at];

function drawCase() {
  const one = current();
  byId("error").hidden = !one.error;
  byId("error").textContent = one.error;
  const worst = one.differences[0];
  byId("subtitle").textContent = [
    one.error ? "not compared" : `${one.differences.length || "No"} ${one.differences.length === 1 ? "difference" : "differences"}`,
    ...(isNumber(one.score) ? [`${one.profile} ${one.score.toFixed(3)}`] : []),
    ...(worst ? [`worst ${worst.impact.toFixed(2)}`] : []), ...state.notes,
  ].join(" · ");
  byId("list").replaceChildren(one.differences.length ? differenceList(one.differences, (number) => goToDifference(stage, number))
    : make("p", { class: "quiet" }, one.error ? "There is nothing to compare." : "The pages look the same."));
  drawKinds();
  drawStage();
  drawCourse();
}

function drawStage() {
  const one = current();
  const sides = SIDES.map((name) => ({
    name, label: name === "reference" ? "Reference" : "Generated", source: one.pictures?.[name] ?? null, missing: "There is no picture.",
  }));
  drawComparison(stage, view.mode, sides, (name, image, sheet) => {
    sheet.append(differenceMarks(name, one.differences, one.sizes[name], sheet.clientWidth));
    applyKinds();
  });
  for (const button of byId("modes").children) button.setAttribute("aria-pressed", button.dataset.mode === view.mode);
}

function drawKinds() {
  const counts = new Map();
  for (const { kind } of current().differences) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  byId("kinds").replaceChildren(...[...counts].map(([kind, count]) => {
    const button = make("button", { type: "button", "aria-pressed": !hidden.has(kind) }, `${kind} ${count}`);
    button.addEventListener("click", () => {
      if (!hidden.delete(kind)) hidden.add(kind);
      button.setAttribute("aria-pressed", !hidden.has(kind));
      applyKinds();
    });
    return button;
  }));
  applyKinds();
}

function applyKinds() {
  for (const one of document.querySelectorAll("[data-kind]")) one.classList.toggle("off", hidden.has(one.dataset.kind));
}

// The score after each change of the page, from the first on.
function drawCourse() {
  const scores = (state.course ?? []).filter(isNumber);
  byId("course").hidden = state.live === null;
  if (state.live === null || !scores.length) return;
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const x = (at) => (scores.length < 2 ? 50 : 4 + (92 * at) / (scores.length - 1));
  const y = (score) => (high === low ? 10 : 18 - (16 * (score - low)) / (high - low));
  const points = scores.map((score, at) => `${x(at).toFixed(2)},${y(score).toFixed(2)}`).join(" ");
  const chart = draw("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", role: "img", "aria-label": `Scores: ${scores.map((one) => one.toFixed(3)).join(", ")}` },
    draw("polyline", { points: scores.length < 2 ? `4,10 96,10` : points }));
  const last = scores.at(-1);
  const step = scores.length > 1 ? last - scores.at(-2) : 0;
  byId("course").replaceChildren(chart, make("span", {}, make("b", {}, last.toFixed(3)), ` ${step ? `${step > 0 ? "+" : "−"}${Math.abs(step).toFixed(3)} with the last change` : ""}`),
    make("span", {}, `${scores.length} ${scores.length === 1 ? "rendering" : "renderings"}, best ${high.toFixed(3)}`));
}

byId("case-label").hidden = state.cases.length < 2;
byId("case").append(...state.cases.map((one, at) => make("option", { value: at }, `${one.id} (${one.error ? "failed" : one.differences.length})`)));
byId("case").addEventListener("change", () => { view.at = Number(byId("case").value); drawCase(); });
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("modes").addEventListener("click", (event) => {
  if (!event.target.dataset.mode) return;
  view.mode = event.target.dataset.mode;
  drawStage();
});
byId("marks").addEventListener("change", () => stage.classList.toggle("no-marks", !byId("marks").checked));
byId("list").addEventListener("keydown", (event) => {
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (by === undefined) return;
  event.preventDefault();
  const buttons = [...byId("list").querySelectorAll("li:not(.off) .difference")];
  buttons[buttons.indexOf(document.activeElement) + by]?.focus();
});
drawCase();

async function follow() {
  for (;;) {
    try {
      const answer = await fetch(`${state.live}?version=${state.version}`);
      if (answer.status === 200) {
        Object.assign(state, await answer.json());
        drawCase();
      } else if (answer.status !== 204) throw new Error(answer.statusText);
    } catch {
      byId("subtitle").textContent = "The command has ended. Start it again to go on.";
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}
if (state.live !== null) follow();
