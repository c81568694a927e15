"use strict";
// A page about a running run: polls its state and reloads, unless the page is in use. Then a note
// says that there is more.

const ASK_MS = 3000;
const touched = { on: false };

// A search may have begun before this script was there to notice.
const inUse = () => touched.on || document.querySelector("dialog[open]") !== null
  || [...document.querySelectorAll("main input[type=search]")].some((field) => field.value !== "");

function listenForResults() {
  const badge = make("button", { type: "button", class: "quiet-button live", hidden: "" });
  badge.addEventListener("click", () => location.reload());
  byId("theme").before(badge);
  document.addEventListener("input", () => { touched.on = true; });
  const ask = async () => {
    let state;
    try {
      const answer = await fetch(data.live, { cache: "no-store", redirect: "error" });
      state = answer.ok ? await answer.json() : null;
    } catch {
      state = null; // the server is gone, or busy: ask again
    }
    if (state) {
      const more = state.results - data.results;
      if ((more > 0 || !state.running) && !inUse()) return location.reload();
      badge.hidden = more <= 0;
      badge.textContent = `Show ${more} new`;
      if (!state.running) return undefined;
    }
    return setTimeout(ask, ASK_MS);
  };
  setTimeout(ask, ASK_MS);
}

if (data.live) listenForResults();
