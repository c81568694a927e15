"use strict";
// Decisions with the keyboard: j and k move, digits choose, o opens a form, x withdraws, l looks.

(() => {
  const cards = () => [...document.querySelectorAll(".dispute")];
  let current = -1;
  let moveOn = false;

  function go(index) {
    const all = cards();
    if (!all.length) return;
    current = Math.min(Math.max(index, 0), all.length - 1);
    all[current].focus({ preventScroll: true });
    all[current].scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("focusin", (event) => {
    const card = event.target.closest(".dispute");
    if (card) current = cards().indexOf(card);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) {
      if (event.key === "Escape") go(current);
      return;
    }
    const card = cards()[current];
    if (event.key === "j") go(current + 1);
    else if (event.key === "k") go(current - 1);
    else if (!card) return;
    else if (/^[1-9]$/.test(event.key)) {
      const option = card.querySelectorAll(".option")[Number(event.key) - 1];
      if (!option) return;
      moveOn = true;
      option.click();
    } else if (event.key === "o") {
      card.querySelector(".other").open = true;
      card.querySelector(".other select").focus();
    } else if (event.key === "x") card.querySelector(".take-back")?.click();
    else if (event.key === "l") card.querySelector(".look-again")?.click();
    else return;
    event.preventDefault();
  });

  // The card was replaced, which would lose the focus.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (!event.target.closest("#disputes")) return;
    go(moveOn ? current + 1 : current);
    moveOn = false;
  });
})();
