// Names for screen readers of parts that the theme leaves without one.
const name = () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((part, index) => {
    part.setAttribute("aria-label", `Code block ${index + 1}`);
  });
};
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
name();
