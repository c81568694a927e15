// Returns facts about elements of a staged page that a snapshot lacks: a CSS selector, the accessible
// name, and whether their font is the browser's default. Also returns the scrollable width of the page
// and the number of the element that covers everything else, or 0.
//
// refs      the numbers of the elements
// standard  the name of the default font
({ refs, standard }) => {
  const DEEPEST = 12; // elements in a selector
  const ours = globalThis.uiproof;
  const one = (root, selector) => ours.plain(root).querySelectorAll(selector).length === 1;
  const selectorOf = (node) => {
    const root = node.getRootNode();
    const parts = [];
    for (let at = node; at?.localName && parts.length < DEEPEST; at = ours.plain(at).parentElement) {
      const element = ours.plain(at);
      const id = element.getAttribute("id");
      if (id && one(root, `#${CSS.escape(id)}`)) {
        parts.unshift(`#${CSS.escape(id)}`);
        break;
      }
      const name = CSS.escape(element.localName);
      const same = [...(element.parentElement?.children ?? [])].filter((it) => it.localName === element.localName);
      parts.unshift(same.length > 1 ? `${name}:nth-of-type(${same.indexOf(at) + 1})` : name);
      if (parts.length > 1 && one(root, parts.join(" > "))) break;
    }
    return parts.join(" > ");
  };
  const BUTTONS = { submit: "Submit", reset: "Reset", image: "Submit" };
  const textOf = (element) =>
    [
      element.textContent,
      ...[...element.querySelectorAll("[alt], [aria-label], [title]")].map(
        (inner) => inner.getAttribute("aria-label") || inner.getAttribute("alt") || inner.getAttribute("title"),
      ),
    ].join(" ");
  const nameOf = (node) => {
    const element = ours.plain(node);
    const say = (name) => element.getAttribute(name) || "";
    const root = node.getRootNode();
    const others = say("aria-labelledby").split(/\s+/).filter(Boolean);
    const names = [
      ...others.map((id) => ours.plain(root).querySelector(`#${CSS.escape(id)}`)?.textContent),
      say("aria-label"),
      ...[...(element.labels ?? [])].map((label) => label.textContent),
      say("alt"),
      say("title"),
      say("placeholder"),
    ];
    const isField = ["input", "select", "textarea"].includes(element.localName);
    if (!isField) names.push(textOf(element));
    else if (["button", "submit", "reset", "image"].includes(element.type)) {
      names.push(element.value, BUTTONS[element.type]);
    }
    return (names.find((text) => text?.trim()) ?? "").replace(/\s+/g, " ").trim().slice(0, 80);
  };
  const told = refs.map((ref) => {
    const node = ours.element(ref);
    if (!node) return null;
    const font = getComputedStyle(node).fontFamily.replace(/["']/g, "");
    return { selector: selectorOf(node), name: nameOf(node), plain: font === standard };
  });
  const root = ours.plain(document).documentElement;
  const cover = seen.cover();
  return { told, width: seen.reach(root?.scrollWidth ?? 0, 0).w, cover: cover ? ours.refOf(cover) : 0 };
}
