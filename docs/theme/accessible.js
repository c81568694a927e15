// Mend what the theme leaves out for screen readers and keyboards.
const mend = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((part, index) => {
    part.setAttribute("aria-label", `Code block ${index + 1}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((part) => { part.tabIndex = 0; });
  document.querySelectorAll("th:empty").forEach((cell) => {
    cell.replaceWith(document.createElement("td"));
  });
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();
