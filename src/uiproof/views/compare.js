"use strict";
// Two pictures of the same thing: beside each other, one over the other with a line to move or
// half transparent, or in turns. `sides` are two of { name, label, source, missing }; `loaded` is told of each picture.

const BLINK_MS = 700;
let blinking = null;

function drawComparison(host, mode, sides, loaded = () => {}) {
  clearInterval(blinking);
  const panes = make("div", { class: `panes ${mode}` }, ...sides.map((side) => comparedPane(side, loaded)));
  host.replaceChildren(panes);
  if (mode === "swipe") addSwipe(host, panes, sides);
  if (mode === "onion") addOnion(host, panes, sides);
  if (mode === "blink") addBlink(host, panes, sides);
  return panes;
}

function comparedPane({ name, label, source, missing }, loaded) {
  const figure = make("figure", { class: `pane ${name}` }, make("figcaption", {}, label));
  const absent = () => make("p", { class: "missing" }, missing);
  if (source === null) {
    figure.append(absent());
    return figure;
  }
  const image = make("img", { alt: label });
  const sheet = make("div", { class: "sheet" }, image);
  image.addEventListener("load", () => loaded(name, image, sheet), { once: true });
  image.addEventListener("error", () => sheet.replaceWith(absent()), { once: true });
  image.src = source;
  figure.append(sheet);
  return figure;
}

function addSwipe(host, panes, [first, second]) {
  const slider = make("input", { type: "range", min: 0, max: 100, step: 0.5, value: 50, class: "slider", "aria-label": `How much of ${first.label} is shown` });
  const set = (value) => {
    slider.value = value;
    panes.style.setProperty("--cut", `${slider.value}%`);
  };
  slider.addEventListener("input", () => set(slider.value));
  const drag = (event) => {
    const frame = panes.getBoundingClientRect();
    set(((event.clientX - frame.left) / frame.width) * 100);
  };
  panes.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (event.pointerType === "mouse") event.preventDefault(); // a finger may still scroll
    panes.setPointerCapture(event.pointerId);
    drag(event);
  });
  panes.addEventListener("pointermove", (event) => panes.hasPointerCapture(event.pointerId) && drag(event));
  panes.append(make("div", { class: "cut", "aria-hidden": "true" }));
  host.prepend(make("div", { class: "mode-bar" }, make("span", {}, first.label), slider, make("span", {}, second.label)));
  set(50);
}

function addOnion(host, panes, [first, second]) {
  const slider = make("input", { type: "range", min: 0, max: 100, value: 50, class: "slider", "aria-label": `How much ${second.label} covers ${first.label}` });
  const set = () => panes.style.setProperty("--opacity", `${slider.value}%`);
  slider.addEventListener("input", set);
  host.prepend(make("div", { class: "mode-bar" }, make("span", {}, first.label), slider, make("span", {}, second.label)));
  set();
}

function addBlink(host, panes, [first, second]) {
  const name = make("strong", { class: "blink-name" });
  const toggle = (on) => {
    panes.classList.toggle("second", on);
    name.textContent = (panes.classList.contains("second") ? second : first).label;
  };
  const pause = make("button", { type: "button" });
  const run = (on) => {
    clearInterval(blinking);
    blinking = on ? setInterval(() => toggle(), BLINK_MS) : null;
    pause.textContent = on ? "Pause" : "Play";
  };
  const swap = make("button", { type: "button" }, "Switch");
  pause.addEventListener("click", () => run(blinking === null));
  swap.addEventListener("click", () => { run(false); toggle(); });
  host.prepend(make("div", { class: "mode-bar" }, name, pause, swap));
  toggle(false);
  run(!window.matchMedia("(prefers-reduced-motion: reduce)").matches);
}
