"use strict";
// Copy links. Browsers have no clipboard without a secure connection: then the link is selected.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = button.closest("article").querySelector("input[readonly]");
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    studio.say("Copied.");
  } catch {
    studio.say("The link is selected; copy it with Ctrl+C.");
  }
});
