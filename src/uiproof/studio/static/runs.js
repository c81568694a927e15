"use strict";
// The list of runs: ticked runs, the filter, and live updates.

(() => {
  const list = () => document.getElementById("list");
  const filter = document.getElementById("filter");

  // ---- ticked runs

  const boxes = (form) => [...form.querySelectorAll("input[name=run]")];

  const isShown = (box) => !box.closest("tr").hidden;

  function drawButtons() {
    for (const form of document.querySelectorAll("form.group")) {
      const all = boxes(form);
      const ticked = all.filter((box) => box.checked).length;
      const button = form.querySelector("button[type=submit]");
      button.disabled = ticked === 0;
      button.textContent = ticked === 0 ? "Tick runs to compare" : ticked === 1 ? "View this run" : `Compare ${ticked} runs`;
      const whole = form.querySelector("[data-all]");
      const shown = all.filter(isShown);
      whole.checked = shown.length > 0 && shown.every((box) => box.checked);
      whole.indeterminate = ticked > 0 && !whole.checked;
    }
  }

  document.addEventListener("change", (event) => {
    const whole = event.target.closest("[data-all]");
    if (whole) {
      for (const box of boxes(whole.form).filter(isShown)) box.checked = whole.checked;
    }
    if (event.target.closest("form.group")) drawButtons();
  });

  // ---- filter: every word must occur in the row

  function applyFilter() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of list().querySelectorAll("[data-words]")) {
      const state = row.querySelector("[data-state]")?.dataset.state ?? "";
      const text = `${row.dataset.words} ${state}`.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    for (const group of list().querySelectorAll(".group")) {
      group.hidden = words.length > 0 && !group.querySelector("[data-words]:not([hidden])");
    }
    document.getElementById("nothing-found").hidden = words.length === 0 || shown > 0;
  }

  filter.addEventListener("input", () => {
    applyFilter();
    drawButtons();
  });
  document.getElementById("show-all").addEventListener("click", () => {
    filter.value = "";
    filter.dispatchEvent(new Event("input"));
    filter.focus();
  });

  // ---- updates: a new list keeps the ticks

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    const fresh = fragment.firstElementChild;
    if (fresh && fresh.innerHTML === target.innerHTML) event.detail.shouldSwap = false;
    if (target.id !== "list") return;
    for (const box of target.querySelectorAll("input[name=run]:checked")) {
      const same = fragment.querySelector(`#${CSS.escape(box.id)}`);
      if (same) same.checked = true;
    }
  });

  document.addEventListener("htmx:afterSettle", () => {
    document.getElementById("search").hidden = !filter.value && list().querySelectorAll("[data-words]").length <= 8;
    applyFilter();
    drawButtons();
  });

  drawButtons();
})();
