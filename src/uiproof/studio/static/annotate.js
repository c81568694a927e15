"use strict";
// Labelling with the keyboard. Unsaved answers are kept in the browser, so that neither a failed
// save nor a reload loses them.

const area = document.getElementById("item-view");
const help = document.getElementById("help");
const VIEWS = ["both", "before", "after"];
const MOST_TAKEN_BACK = 5; // times per item that a page may grab the keyboard before we let it
const SETTLING = 1000; // milliseconds
const TOLD_LATE = 500;
let said; // what the person has said about this item
let attempt; // the last thing that was sent, with its name
let busy = false;
let since = 0;
let taken = 0;
let settled = 0; // when the page has had its time to load
let marked = null; // the question that digits answer
let intended = false; // the person has put the keyboard into the page

const item = () => document.getElementById("item");
const field = () => area.querySelector("textarea[name=note]");
const questions = () => [...area.querySelectorAll(".question")];
const isAnswered = (one) => one.dataset.kind === "text" || said.answers[one.dataset.question] !== undefined;
const frames = () => [...area.querySelectorAll("iframe")];

/** Begin with the item that is shown. */
function begin() {
  attempt = undefined;
  since = performance.now();
  taken = 0;
  intended = false;
  area.removeAttribute("data-large");
  settled = since + SETTLING;
  if (!item()) return;
  const former = JSON.parse(item().dataset.former);
  said = {
    usable: former.usable ?? null,
    nothing: former.failure === "none",
    failures: [former.failure, ...(former.also ?? [])].filter((letter) => letter && letter !== "none"),
    side: former.side ?? null,
    answers: former.answers ?? {},
    note: field().value,
  };
  const kept = localStorage.getItem(`draft.${item().dataset.draft}`);
  if (kept) Object.assign(said, JSON.parse(kept));
  field().value = said.note;
  for (const one of questions()) {
    if (one.dataset.kind === "text") one.querySelector("[data-answer]").value = said.answers[one.dataset.question] ?? "";
  }
  marked = null;
  mark(questions().find((one) => !isAnswered(one)) ?? questions()[0]);
  for (const stage of area.querySelectorAll(".stage")) sizes.observe(stage);
  show();
  lookAtMarks();
  lookWho(since);
  document.getElementById("announcement").textContent = `Item ${item().dataset.place}. ${area.querySelector(".words").textContent}`;
  const address = item().dataset.ahead;
  setTimeout(() => { for (const one of address.split(" ").filter(Boolean)) new Image().src = one; }, 500);
}

/** Show the answer. */
function show() {
  const press = (selector, on) => {
    for (const button of area.querySelectorAll(selector)) button.setAttribute("aria-pressed", String(Boolean(on(button.dataset.value))));
  };
  press("[data-act=usable]", (value) => said.usable === (value === "yes") && said.usable !== null);
  press("[data-act=none]", () => said.nothing);
  press("[data-act=failure]", (letter) => said.failures.includes(letter));
  press("[data-act=side]", (side) => said.side === side);
  press("[data-act=view]", (view) => area.dataset.view === view);
  press("[data-act=shown]", (shown) => area.dataset.shown === shown);
  for (const main of area.querySelectorAll("em.main")) {
    main.hidden = said.failures.length < 2 || main.closest("button").dataset.value !== said.failures[0];
  }
  for (const one of questions()) {
    for (const button of one.querySelectorAll("[data-act=pick]")) {
      button.setAttribute("aria-pressed", String(String(said.answers[one.dataset.question]) === button.dataset.value));
    }
  }
}

/** Mark the question that digits answer. */
function mark(question) {
  marked?.classList.remove("marked");
  marked = question ?? null;
  marked?.classList.add("marked");
  marked?.scrollIntoView({ block: "nearest" });
}

/** Keep and show a change of the answer. */
function changed() {
  attempt = undefined;
  trouble("");
  localStorage.setItem(`draft.${item().dataset.draft}`, JSON.stringify(said));
  show();
}

function trouble(text) {
  const place = area.querySelector(".trouble");
  if (!place) return;
  place.textContent = text;
  place.hidden = !text;
}

/** Scroll tall pictures to what is marked on them. */
function lookAtMarks() {
  for (const figure of area.querySelectorAll(".shots figure")) {
    const mark = figure.querySelector("rect");
    if (!mark) continue;
    const scale = figure.querySelector("svg").getBoundingClientRect().width / figure.querySelector("svg").viewBox.baseVal.width;
    const middle = (mark.y.baseVal.value + mark.height.baseVal.value / 2) * scale;
    figure.scrollTop = Math.max(0, middle - figure.clientHeight / 2);
  }
}

/** Show pages at the width they were made for, scaled down as a whole. */
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const frame = target.querySelector("iframe");
    const width = Number(target.dataset.width);
    const scale = Math.min(1, target.clientWidth / width);
    frame.style.width = `${Math.max(width, target.clientWidth)}px`;
    frame.style.height = `${target.clientHeight / scale}px`;
    frame.style.transform = `scale(${scale})`;
  }
});

// Answers.

const acts = {
  usable(value) { said.usable = value === "yes"; changed(); },
  none() { said.nothing = !said.nothing; said.failures = []; changed(); },
  failure(letter, first = false) {
    const others = said.failures.filter((one) => one !== letter);
    if (first) said.failures = [letter, ...others];
    else said.failures = said.failures.includes(letter) ? others : [...others, letter];
    said.nothing = false;
    changed();
  },
  side(side) { said.side = side; changed(); if (!questions().length) save(); },
  pick(value, button) {
    const one = button.closest(".question");
    said.answers[one.dataset.question] = one.dataset.kind === "scale" ? Number(value) : value;
    changed();
    const all = questions();
    const after = all.slice(all.indexOf(one) + 1);
    mark(after.find((other) => !isAnswered(other)) ?? all.find((other) => !isAnswered(other)) ?? after[0] ?? one);
  },
  undo() { go("undo", {}, false); },
  skip() { if (item()) go("skip", { item: item().dataset.key }); },
  help() { if (help.open) help.close(); else help.showModal(); },
  view(view) { area.dataset.view = view; localStorage.setItem("annotate.view", view); show(); lookAtMarks(); },
  shown(shown) { area.dataset.shown = shown; show(); lookAtMarks(); },
  large(_, button) {
    const panes = [...area.querySelectorAll(".pane")];
    const wanted = String(panes.indexOf((button ?? area.querySelector(".generated .pane-head")).closest(".pane")));
    if (area.dataset.large === wanted) area.removeAttribute("data-large");
    else area.dataset.large = wanted;
  },
  reload(_, button) {
    const chosen = button ? [button.closest(".pane").querySelector("iframe")] : frames();
    // Cloning restores the original address of a frame that has navigated.
    for (const frame of chosen) frame.replaceWith(frame.cloneNode());
    for (const stage of area.querySelectorAll(".stage")) { sizes.unobserve(stage); sizes.observe(stage); }
    acts.back();
  },
  back() { document.activeElement?.blur(); window.focus(); area.focus({ preventScroll: true }); here(); },
};

/** Note that the keyboard is back in the studio. */
function here() {
  intended = false;
  for (const stage of area.querySelectorAll(".stage")) stage.removeAttribute("data-away");
}

function save() {
  if (!item() || busy) return;
  const answer = { item: item().dataset.key, note: field().value };
  if (area.dataset.kind === "judge") {
    if (said.usable === null) return void trouble("Is it usable? Press y or n.");
    if (!said.nothing && said.failures.length === 0) return void trouble("What fails? Press a letter, or 0 if nothing does.");
    Object.assign(answer, { usable: said.usable, failure: said.failures[0] ?? "none", also: said.failures.slice(1) });
  } else if (area.dataset.kind === "compare") {
    if (said.side === null) return void trouble("Which is better? Press 1, 2 or 3.");
    answer.side = said.side;
  }
  const open = questions().find((one) => !isAnswered(one));
  if (open) {
    mark(open);
    return void trouble(`Not answered: ${open.querySelector(".ask").textContent}`);
  }
  if (questions().length) answer.answers = said.answers;
  go("answer", answer);
}

/** Send a request and show the next item. Retries until the studio can be reached or the answer is
 * changed; an attempt that arrives twice counts once. */
async function go(what, content, retries = true) {
  if (busy) return;
  busy = true;
  const key = item()?.dataset.draft;
  attempt ??= { nonce: crypto.getRandomValues(new Uint32Array(4)).join("-"), seconds: (performance.now() - since) / 1000 };
  const mine = attempt;
  area.setAttribute("aria-busy", "true");
  try {
    for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
      try {
        const answer = await studio.send(`/tasks/${area.dataset.task}/${what}`, { ...content, ...mine });
        if (what === "answer") localStorage.removeItem(`draft.${key}`);
        put(answer.html);
        return;
      } catch (error) {
        if (error.status && error.status < 500) return void refused(error.message);
        if (!retries) return void refused("The studio cannot be reached. Try again.");
      }
      trouble("Not saved yet: the studio cannot be reached. Trying again; your answer is kept.");
      await new Promise((done) => { setTimeout(done, wait); });
      if (attempt !== mine) return; // changed meanwhile: the person saves again
    }
  } finally {
    busy = false;
    area.removeAttribute("aria-busy");
  }
}

function refused(text) {
  if (item()) trouble(text);
  else studio.say(text, true);
}

/** Show the HTML of the studio's template, in which everything is escaped. */
function put(html) {
  sizes.disconnect();
  area.innerHTML = html;
  window.scrollTo(0, 0);
  begin();
}

// Keys and clicks.

function press(event) {
  const key = /^Digit/.test(event.code) && !event.shiftKey ? event.code.slice(5) : event.key.toLowerCase();
  const judge = area.dataset.kind === "judge";
  if (key === "?") return acts.help();
  if (key === "u") return acts.undo();
  if (!item()) return false;
  if (key === "enter") return save();
  if (key === "s") return acts.skip();
  if (key === "m") return field().focus();
  if (key === "v") return acts.view(VIEWS[(VIEWS.indexOf(area.dataset.view) + 1) % VIEWS.length]);
  if (key === "p") return acts.shown(area.dataset.shown === "page" ? "pictures" : "page");
  if (key === "r") return acts.reload();
  if (key === "z") return acts.large();
  if (key === "k") { intended = true; return frames()[0]?.focus(); }
  if (judge && (key === "y" || key === "n")) return acts.usable(key === "y" ? "yes" : "no");
  if (judge && key === "0") return acts.none();
  if (judge && /^[a-j]$/.test(key) && area.querySelector(`[data-act=failure][data-value=${key}]`)) return acts.failure(key, event.shiftKey);
  if (key === "q" && marked) {
    const all = questions();
    mark(all[(all.indexOf(marked) + 1) % all.length]);
    return marked.querySelector("textarea")?.focus();
  }
  if (area.dataset.kind === "rate" && /^[1-9]$/.test(key)) {
    const button = marked?.querySelectorAll("[data-act=pick]")[Number(key) - 1];
    return button ? acts.pick(button.dataset.value, button) : false;
  }
  const side = { 1: "left", arrowleft: "left", 2: "equal", arrowdown: "equal", 3: "right", arrowright: "right" }[key];
  if (area.dataset.kind === "compare" && side) return acts.side(side);
  return false;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Tab") intended = true; // wherever it leads, the person wants to go there
  if (event.isComposing || event.defaultPrevented || event.altKey) return;
  if (help.open) {
    if (event.key === "?") { event.preventDefault(); help.close(); }
    return;
  }
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.repeat) return;
  const scrolls = event.target.closest("figure") && event.key.startsWith("Arrow");
  const activates = event.key === "Enter" && event.target.closest("button, a");
  if (scrolls || activates) return;
  if (press(event) !== false) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (!button) return;
  const { act, value } = button.dataset;
  if (["large", "reload", "pick"].includes(act)) acts[act](value, button);
  else acts[act](value);
  // After a mouse click Enter saves, instead of pressing the same button again.
  if (event.detail > 0) button.blur();
});
area.addEventListener("submit", (event) => { event.preventDefault(); save(); });
area.addEventListener("input", (event) => {
  const question = event.target.closest(".question");
  if (question) said.answers[question.dataset.question] = event.target.value;
  said.note = field().value;
  changed();
});
area.addEventListener("focusin", (event) => {
  const question = event.target.closest(".question");
  if (question) mark(question);
});
window.addEventListener("beforeunload", (event) => { if (busy) event.preventDefault(); });

// Inside a frame keys belong to the page. If the page grabs the focus by itself, while it loads or
// without a click, the studio takes it back.
area.addEventListener("load", (event) => {
  if (event.target.localName === "iframe") settled = performance.now() + SETTLING;
}, true);
window.addEventListener("blur", () => { setTimeout(lookWho, 0, performance.now()); });
setInterval(() => { lookWho(performance.now()); }, 500); // some grabs come without an event
function lookWho(left) {
  const frame = document.activeElement;
  if (frame?.localName !== "iframe" || "away" in frame.parentElement.dataset) return;
  const clicked = left > settled && (navigator.userActivation?.isActive ?? true);
  if (intended || clicked || taken >= MOST_TAKEN_BACK) frame.parentElement.dataset.away = "";
  // The click is reported by another process and may arrive a little later.
  else if (left > settled && performance.now() < left + TOLD_LATE) setTimeout(lookWho, 50, left);
  else { taken += 1; acts.back(); }
}
window.addEventListener("focus", here);

const view = localStorage.getItem("annotate.view");
if (VIEWS.includes(view)) area.dataset.view = view;
begin();
