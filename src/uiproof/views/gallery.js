"use strict";
// Filters, order and paging for a list of cards. Each card names its choices by number, in the order
// of the selects; several of one filter are joined by commas.

const STEP = 24; // cards added at a time
const cards = [...document.querySelectorAll(".find")].map((element) => ({
  element,
  fits: true,
  values: element.dataset.values.split(" ").map((codes) => codes.split(",")),
  difference: element.dataset.ahead === undefined ? null : Number(element.dataset.ahead),
  text: element.textContent.toLowerCase(),
}));
const groups = [...document.querySelectorAll(".group")].map((element) => {
  const more = make("button", { type: "button", class: "quiet-button more" });
  const group = { element, more, visible: STEP, own: cards.filter((card) => element.contains(card.element)) };
  more.addEventListener("click", () => { group.visible += STEP; drawGroup(group); });
  element.append(more);
  return group;
});
const selects = [...byId("filters").querySelectorAll("select:not(#order)")];
const byDifference = () => byId("order")?.value === "difference";
const inOrder = () => groups.flatMap((group) => ordered(group.own));

function ordered(own) {
  return byDifference() ? [...own].sort((a, b) => compareValues(a.difference, b.difference, false)) : own;
}

function drawGroup({ element, more, visible, own }) {
  const found = ordered(own).filter((card) => card.fits);
  for (const card of own) card.element.hidden = true;
  for (const card of found.slice(0, visible)) card.element.hidden = false;
  element.hidden = found.length === 0;
  element.querySelector(".group-count").textContent = found.length.toLocaleString("en");
  const rest = Math.max(found.length - visible, 0);
  more.hidden = rest === 0;
  more.textContent = `Show ${Math.min(rest, STEP)} more of ${rest.toLocaleString("en")}`;
}

function showCardsUpTo(element) {
  const group = groups.find(({ own }) => own.some((card) => card.element === element));
  const place = ordered(group.own).filter((card) => card.fits).findIndex((card) => card.element === element);
  if (place < 0) element.hidden = false;
  else if (place >= group.visible) {
    group.visible = Math.ceil((place + 1) / STEP) * STEP;
    drawGroup(group);
  }
}

function applyFilters() {
  const wanted = selects.map((select) => select.value);
  const text = byId("search").value.trim().toLowerCase();
  for (const card of cards) card.fits = wanted.every((value, index) => value === "" || card.values[index].includes(value)) && card.text.includes(text);
  const filled = groups.filter(({ own }) => own.some((card) => card.fits));
  if (filled.length === 1) filled[0].element.open = true;
  groups.forEach((group) => {
    group.visible = STEP;
    drawGroup(group);
  });
  const filtered = text !== "" || wanted.some((value) => value !== "");
  byId("count").textContent = filtered ? `${cards.filter((card) => card.fits).length} of ${cards.length} shown cases fit` : "";
}

function reorder() {
  for (const { element, own } of groups) element.querySelector("ol").append(...ordered(own).map((card) => card.element));
}

byId("filters").hidden = false;
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("input", applyFilters);
byId("order")?.addEventListener("input", reorder);
applyFilters();
