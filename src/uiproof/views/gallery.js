"use strict";
// Filters for a list of cards. Each card names its choices by number, in the order of the selects;
// several of one filter are joined by commas.

const cards = [...document.querySelectorAll(".find")].map((element) => ({
  element,
  values: element.dataset.values.split(" ").map((codes) => codes.split(",")),
  text: element.textContent.toLowerCase(),
}));
const groups = [...document.querySelectorAll(".group")];
const selects = [...byId("filters").querySelectorAll("select")];

function applyFilters() {
  const wanted = selects.map((select) => select.value);
  const text = byId("search").value.trim().toLowerCase();
  let count = 0;
  for (const card of cards) {
    const fits = wanted.every((value, index) => value === "" || card.values[index].includes(value)) && card.text.includes(text);
    card.element.hidden = !fits;
    count += fits;
  }
  const counts = groups.map((group) => group.querySelectorAll(".find:not([hidden])").length);
  groups.forEach((group, index) => {
    group.hidden = counts[index] === 0;
    group.querySelector(".group-count").textContent = counts[index].toLocaleString("en");
    if (counts[index] && counts.every((other, at) => at === index || other === 0)) group.open = true;
  });
  const filtered = text !== "" || wanted.some((value) => value !== "");
  byId("count").textContent = filtered ? `${count} of ${cards.length} shown cases fit` : "";
}

byId("filters").hidden = false;
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("input", applyFilters);
applyFilters();
