"use strict";
// A card large: for interactions both sides before or after, compared; for clicks the screenshot.

const MOMENTS = { before: "Before", after: "After", difference: "Difference" };
const chosen = { moment: "after" };

for (const { element } of cards) {
  const button = make("button", { type: "button", class: "enlarge", "aria-label": `Look at ${element.dataset.title}` }, "Look closer");
  button.addEventListener("click", () => openCard(element));
  element.prepend(button);
}

// Called by the list of the worst and best.
function openCase(place) {
  const card = byId(`card-${place}`);
  const group = card.closest(".group");
  if (group) group.open = true;
  openCard(card);
}

// For the lists of the worst and best, and for links.
function casePicture(place) {
  const card = byId(`card-${place}`);
  if (!("after" in card.dataset)) {
    const drawing = card.querySelector(".zoomed svg");
    return drawing ? make("span", { class: "whole" }, drawing.cloneNode(true)) : make("span", { class: "thumbnail none" }, "no picture");
  }
  const sides = card.dataset.after.split(" ").map((number, side) => (number === "-" ? make("span", { class: "thumbnail none" }, "no picture")
    : make("span", { class: "thumbnail" }, make("img", { decoding: "async", alt: side ? "generated" : "reference", "data-picture": number }))));
  return make("span", { class: "pair" }, ...sides);
}

function findCase(id, run) {
  const card = cards.find(({ element: { dataset } }) => dataset.title === id && (run === null || Number(dataset.run) === run));
  return card ? Number(card.element.id.slice("card-".length)) : null;
}

function openCard(card) {
  const listed = inOrder().filter(({ fits, element }) => fits && !element.closest(".group:not([open])")).map(({ element }) => element);
  if (!listed.includes(card)) listed.unshift(card);
  openViewer({
    count: listed.length,
    position: listed.indexOf(card),
    show: (position) => showCard(listed[position]),
    back: (position) => { showCardsUpTo(listed[position]); listed[position].querySelector(".enlarge").focus(); },
  });
}

function showCard(card) {
  titleViewer(card.dataset.title, Number(card.dataset.run));
  const compared = "after" in card.dataset;
  const differences = compared ? JSON.parse(card.dataset.differences ?? "null") : null;
  offerOptions(Boolean(differences?.length), false);
  byId("viewer-modes").hidden = !compared;
  if (compared) showInteraction(card, differences);
  else {
    fillSegments("viewer-choices", []);
    clearInterval(blinking);
    const whole = card.querySelector(".overview svg");
    stage.replaceChildren(whole ? large(whole) : make("p", { class: "missing" }, "There is no picture of this case."));
    viewing.redraw = () => {};
  }
  const facts = [...card.querySelectorAll(".about > div:not(.overview), .states, .zoomed, details")].map((part) => part.cloneNode(true));
  for (const details of facts.filter((part) => part.matches("details"))) details.open = true;
  const lookedAt = compared ? ".states" : ".none";
  const about = facts.filter((part) => !part.matches(lookedAt));
  if (differences?.length) {
    const said = new Set(differences.map((one) => one.says)); // once is enough
    for (const item of about[0].querySelectorAll(".evidence li")) if (said.has(item.textContent)) item.remove();
    about.splice(1, 0, ...differenceFacts(differences, ""));
  }
  about.push(...sourceFacts(JSON.parse(card.querySelector("script.sources")?.textContent ?? "[]")));
  byId("facts").replaceChildren(...about);
  byId("facts").querySelectorAll("[data-picture]").forEach(loadPicture);
}

function large(drawing) {
  const copy = drawing.cloneNode(true);
  copy.querySelectorAll("[data-picture]").forEach(loadPicture);
  return make("div", { class: "large" }, copy);
}

// The page's graph, with the edge of this interaction.
function graphOf(card) {
  const drawing = large(byId(card.dataset.graph).querySelector("svg"));
  drawing.querySelector(`[data-interaction="${CSS.escape(card.dataset.interaction)}"]`)?.classList.add("current");
  return drawing;
}

function showInteraction(card, differences) {
  const pictures = (moment) => card.dataset[moment].split(" ").map((number) => (number === "-" ? null : pictureSource(number)));
  const moments = { ...MOMENTS, ...("graph" in card.dataset ? { graph: "Graph" } : {}) };
  const now = chosen.moment in moments ? chosen.moment : "after";
  fillSegments("viewer-choices", Object.entries(moments).map(([moment, label]) => ({
    label,
    on: moment === now,
    choose: () => { chosen.moment = moment; showInteraction(card, differences); },
  })));
  if (now === "graph") {
    clearInterval(blinking);
    byId("viewer-modes").hidden = true;
    viewing.redraw = () => {};
    stage.replaceChildren(graphOf(card));
    return;
  }
  const [reference, generated] = pictures(now);
  const side = (name, source) => ({ name, source, label: `${name === "reference" ? "Reference" : "Generated"} ${now}`, missing: "There is no such picture." });
  const whole = now !== "difference"; // parts of pages cannot lie on each other
  const widths = (card.dataset.widths ?? "").split(" ").map(Number);
  const marked = (name, image, sheet) => whole && addMarks(name, image, sheet, differences, widths[name === "reference" ? 0 : 1] || null);
  byId("viewer-modes").hidden = !whole;
  viewing.redraw = () => drawComparison(stage, whole ? viewing.mode : "side", [side("reference", reference), side("generated", generated)], marked);
  markMode();
  viewing.redraw();
}
