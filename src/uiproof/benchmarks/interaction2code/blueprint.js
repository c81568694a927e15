// Shows what an interaction changes when a person does what the interaction says.
(() => {
  const height = document.body.style.height;

  const show = (effect, visible) => {
    if (effect.hidden === !visible) return;
    effect.hidden = !visible;
    document.body.style.height = visible ? `${effect.dataset.height}px` : height;
  };

  const wire = (element, effect) => {
    const appear = () => show(effect, true);
    let held = false;
    const ways = {
      click: () =>
        element.addEventListener("click", (event) => {
          if (element.tagName === "A") event.preventDefault();
          show(effect, effect.hidden);
        }),
      hover: () => {
        element.addEventListener("mouseenter", appear);
        element.addEventListener("mouseleave", () => show(effect, false));
      },
      type: () => element.addEventListener("input", () => show(effect, element.value !== "")),
      select: () => element.addEventListener("change", appear),
      drag: () => {
        element.addEventListener("pointerdown", () => (held = true));
        document.addEventListener("pointerup", () => (held = false));
        document.addEventListener("pointermove", () => held && appear());
        element.addEventListener("dragstart", appear);
      },
      scroll: () => {
        element.addEventListener("wheel", appear, { passive: true });
        element.addEventListener("scroll", appear);
        document.addEventListener("scroll", appear);
      },
      key: () => element.addEventListener("keydown", appear),
    };
    ways[element.dataset.on]();
  };

  for (const element of document.querySelectorAll("[data-on]")) {
    wire(element, document.getElementById(element.dataset.effect));
  }
})();
