"use strict";
// What is different between two pages: a list, and numbered marks over their pictures. Each has the
// number of its difference; pointing at one lights up the others.

// Boxes are x, y, width and height in CSS pixels, `size` is that of the page, and `across` is how wide
// it is shown, so that numbers can be read on small pictures too.
function differenceMarks(side, differences, size, across) {
  const [width, height] = size;
  const unit = (1.1 * width) / Math.max(across, 1);
  const root = draw("svg", { class: "overlay marks", viewBox: `0 0 ${width} ${height}` });
  const place = (one) => (side === "reference" ? one.reference_box : one.box);
  differences.forEach((one, number) => {
    const box = place(one);
    if (!box) return;
    const [x, y, w, h] = box;
    const mark = draw("g", { class: `mark-group kind-${one.kind}`, "data-difference": number, "data-kind": one.kind });
    if (side !== "reference" || one.kind === "missing") {
      for (const [mx, my, mw, mh] of one.members ?? []) mark.append(draw("rect", { class: "member", x: mx, y: my, width: mw, height: mh }));
    }
    // Numbers of boxes that begin at the same place stand beside each other.
    const others = differences.slice(0, number).map(place).filter((other) => other && Math.abs(other[0] - x) < 16 * unit && Math.abs(other[1] - y) < 16 * unit);
    const [cx, cy] = [Math.max(x, 8 * unit) + 17 * others.length * unit, Math.max(y, 8 * unit)];
    const text = draw("text", { x: cx, y: cy, "font-size": 10 * unit });
    text.textContent = number + 1;
    mark.append(draw("rect", { class: "marked", x, y, width: Math.max(w, 2), height: Math.max(h, 2) }),
      draw("circle", { cx, cy, r: 8 * unit }), text);
    mark.addEventListener("pointerenter", () => pointAt(number));
    mark.addEventListener("pointerleave", () => pointAt(null));
    root.prepend(mark); // the worst above the others
  });
  return root;
}

function differenceList(differences, choose = () => {}) {
  return make("ol", { class: "differences" }, ...differences.map((one, number) => {
    const head = make("span", { class: "difference-head" }, make("span", { class: `number kind-${one.kind}` }, number + 1), make("span", { class: "badge" }, one.kind));
    if (isNumber(one.impact)) head.append(make("span", { class: "impact", title: "How much of what a person sees, 0 to 1" }, `impact ${one.impact.toFixed(2)}`));
    const button = make("button", { type: "button", class: "difference" }, head, make("span", { class: "says", dir: "auto" }, one.says));
    // Of an interaction the sentence says both.
    if (one.was !== null && one.is !== null && one.kind !== "interaction") {
      button.append(make("span", { class: "change" }, make("del", { dir: "auto" }, one.is), " → ", make("ins", { dir: "auto" }, one.was)));
    }
    if (one.selector) button.append(make("code", { dir: "auto" }, one.selector));
    button.addEventListener("pointerenter", () => pointAt(number));
    button.addEventListener("pointerleave", () => pointAt(null));
    button.addEventListener("focus", () => pointAt(number));
    button.addEventListener("blur", () => pointAt(null));
    button.addEventListener("click", () => choose(number));
    return make("li", { "data-difference": number, "data-kind": one.kind }, button);
  }));
}

// Show the mark of a difference that was chosen in the list.
function goToDifference(host, number) {
  const marks = [...host.querySelectorAll(`[data-difference="${number}"] .marked`)];
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  (marks.at(-1) ?? host).scrollIntoView({ block: "center", behavior: still ? "auto" : "smooth" });
  pointAt(number);
}

function pointAt(number) {
  for (const shape of document.querySelectorAll("[data-difference]")) {
    shape.classList.toggle("active", number !== null && shape.dataset.difference === String(number));
  }
}
