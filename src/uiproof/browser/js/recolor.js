// Gives every text element a colour of its own, the same each time it is called, and (on the first
// call) tells which text belongs to which colour. Backgrounds become transparent.
//
// offset  added to every channel, modulo 256: two calls with different offsets make text the only
//         thing that changes by that much
// group   which 4096 elements get colours; 4096 is how many there are
// list    whether to return the text nodes
({ offset, group, list }) => {
  const OWN_COLOR = new Set(
    ("p h1 h2 h3 h4 h5 h6 div span a b li table td th button footer header figcaption").split(" "),
  );
  const POOL = 4096;
  const LOST = -1;

  const all = [...document.querySelectorAll("*")].filter((element) => element.style);
  const listed = all.filter((element) => OWN_COLOR.has(element.localName));

  // The colour that the reference implementation believes an element of another kind to have: the
  // last inline declaration whose text contains "color". It looks for that colour in the recoloured
  // picture, where it never is, so the text is lost; what it cannot read counts as inherited.
  const hasReadableInlineColor = (element) => {
    const parts = (element.getAttribute("style") || "")
      .split(";")
      .filter((part) => part.includes("color") && !part.includes("background-color"));
    if (!parts.length) return false;
    const value = (parts.at(-1).split(":")[1] || "").trim().replace(" !important", "");
    if (value.startsWith("#")) return true;
    if (value.startsWith("rgb")) return /^rgb\(\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\)$/.test(value);
    if (/^(transparent|currentcolor|inherit|initial|unset|revert)$/i.test(value)) return false;
    if (/^hs/i.test(value)) return /^hs[lv]\(\d+\.?\d*,\s*\d+\.?\d*%,\s*\d+\.?\d*%\)$/i.test(value);
    return /^[a-z]+$/i.test(value) && CSS.supports("color", value);
  };

  const textNodes = (indexOf) => {
    const found = [];
    const walk = (node, index) => {
      for (const child of node.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) {
          if (child.data.trim()) found.push([child.data, index]);
        } else if (child.nodeType === Node.ELEMENT_NODE) {
          // With scripts on, the markup inside <noscript> is one text; it is not shown.
          if (child.localName === "noscript" && child.textContent.includes("<")) continue;
          const own = indexOf.get(child);
          if (own !== undefined) walk(child, own);
          else walk(child, hasReadableInlineColor(child) ? LOST : index);
        }
      }
    };
    if (document.body) walk(document.body, LOST);
    return found;
  };

  // Where there are more elements than colours, only those that own text get one. Setting styles
  // makes the browser write them anew, so who owns text is found out once, before that.
  let coloured = listed;
  if (listed.length > POOL && !list) {
    coloured = globalThis.uiproofColoured;
  } else if (listed.length > POOL) {
    const positions = new Map(listed.map((element, index) => [element, index]));
    const owners = new Set(textNodes(positions).map(([, index]) => index));
    coloured = listed.filter((_, index) => owners.has(index));
    globalThis.uiproofColoured = coloured;
  }
  const indexOf = new Map(coloured.map((element, index) => [element, index]));
  const nodes = list ? textNodes(indexOf) : null;

  if (list || group > 0) {
    for (const element of all) {
      element.style.setProperty("transition", "none", "important");
      element.style.setProperty("background-color", "rgba(255, 255, 255, 0)", "important");
    }
    for (const element of listed) element.style.setProperty("opacity", "1", "important");
  }
  const channel = (value) => (10 + 16 * (value & 15) + offset) % 256;
  for (const element of listed) {
    const index = indexOf.get(element);
    let color = "rgb(0, 0, 0)";
    if (index !== undefined && Math.floor(index / POOL) === group) {
      const place = POOL - 1 - (index % POOL);
      color = `rgb(${channel(place >> 8)}, ${channel(place >> 4)}, ${channel(place)})`;
    }
    element.style.setProperty("color", color, "important");
  }
  return { nodes, coloured: coloured.length };
}
