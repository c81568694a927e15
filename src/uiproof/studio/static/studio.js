"use strict";
// Shared by all pages: the theme, messages, and requests with the CSRF token.
// Untrusted text only ever becomes textContent.

const studio = {
  /** Show a message; it disappears by itself unless it is a problem. */
  say(text, problem = false) {
    const place = document.getElementById("message");
    place.textContent = text;
    place.className = problem ? "message problem" : "message";
    place.hidden = false;
    clearTimeout(studio.timer);
    if (!problem) studio.timer = setTimeout(() => { place.hidden = true; }, 4000);
  },
  /** Send JSON; return the JSON of the response, or throw an Error with its message. */
  async send(address, content, method = "POST") {
    const answer = await fetch(address, {
      method,
      headers: { "Content-Type": "application/json", "X-CSRF-Token": document.body.dataset.csrf },
      body: JSON.stringify(content),
    });
    if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
    return answer.json();
  },
};

const THEMES = ["auto", "light", "dark"];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = `Theme: ${theme}`;
}
setTheme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
document.getElementById("theme").addEventListener("click", () => {
  const now = document.documentElement.dataset.theme;
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  localStorage.setItem("theme", next);
  setTheme(next);
});

document.addEventListener("htmx:responseError", (event) => {
  studio.say(event.detail.xhr.responseText.slice(0, 400) || "The request failed.", true);
});
document.addEventListener("htmx:sendError", () => {
  studio.say("The studio cannot be reached. Is it still running? Nothing was saved.", true);
});
