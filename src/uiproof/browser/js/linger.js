// Called twice. At first (`moment` is "before") it records the positions of the texts that `inventory` has
// listed. Then ("later") it advances the page's clock and scrolls through the page, as a reader does, and
// returns the texts that were never visible, the boxes of the elements that disappeared with them, and the
// number of other texts that were visible. The page's scripts run.
// On a page without scripts only style rules for `:hover` react to a reader: "hovered" applies them as if the
// pointer were in the middle of the window, and returns the same, or null if hardly any text disappears.
async ({ moment }) => {
  const LATER_MS = 9000; // the moment of the first look
  const BETWEEN_MS = 300; // from one look to the next
  const MOST_WINDOWS = 15; // that are looked at, from the top
  const MOST_HOVERED = 0.1; // of the texts: menus and cards change as much under a pointer
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  // Whether there are rules for `:hover`; with `mark`, they apply to elements with that attribute.
  const hoverRules = (rules, mark) => {
    let found = false;
    for (const rule of rules) {
      if (rule.selectorText?.includes(":hover")) {
        found = true;
        if (mark) rule.selectorText = rule.selectorText.replaceAll(":hover", `[${mark}]`);
      }
      const inner = rule.cssRules ?? rule.styleSheet?.cssRules;
      if (inner?.length && hoverRules(inner, mark)) found = true;
    }
    return found;
  };
  const reacts = (mark) => {
    const sheets = [...document.styleSheets, ...document.adoptedStyleSheets].map((sheet) => {
      try {
        return hoverRules(sheet.cssRules, mark);
      } catch {
        return false; // of another host, whose rules cannot be read
      }
    });
    return sheets.includes(true);
  };
  const hover = () => {
    const mark = "data-uiproof-hovered";
    reacts(mark);
    const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
    for (let up = middle ?? document.body; up; up = up.parentElement) up.setAttribute(mark, "");
    for (const started of document.getAnimations()) {
      if (Number.isFinite(started.effect?.getComputedTiming().endTime)) started.finish();
    }
  };
  if (moment === "before") {
    // As the page was before `recolor`.
    for (const [element, style] of globalThis.uiproofStyles ?? []) {
      if (style === null) element.removeAttribute("style");
      else element.setAttribute("style", style);
    }
    const owners = globalThis.uiproofTexts ?? [];
    const [places, parents] = [new Map(), new Map()]; // of elements, as they are now
    const listed = owners.map(({ node }) => {
      if (!node) return null;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (let up = node.parentElement; up && !places.has(up); up = up.parentElement) {
        const { left, top, width, height } = up.getBoundingClientRect();
        places.set(up, [left + scrollX, top + scrollY, width, height]);
        parents.set(up, up.parentElement);
      }
      return { node, parent: node.parentElement, text: plain(node.data), top: range.getBoundingClientRect().top + scrollY };
    });
    const height = document.scrollingElement?.scrollHeight ?? 0;
    const end = Math.min(height, MOST_WINDOWS * innerHeight);
    globalThis.uiproofPlaces = { places, parents, listed, end };
    return reacts();
  }
  const { places, parents, listed, end } = globalThis.uiproofPlaces;
  const found = new Set();
  const look = (root, anywhere) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    const range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.shadowRoot) look(node.shadowRoot, anywhere);
        continue;
      }
      const text = plain(node.data);
      if (!text || found.has(text)) continue;
      const parent = node.parentElement ?? node.getRootNode().host;
      range.selectNodeContents(node);
      const { left, right, top, bottom, width, height } = range.getBoundingClientRect();
      const inWindow = anywhere || right > 0 && left < innerWidth && bottom > 0 && top < innerHeight;
      if (!inWindow || !width || !height) continue;
      if (parent?.checkVisibility({ opacityProperty: true, visibilityProperty: true })) found.add(text);
    }
  };
  if (moment === "hovered") {
    hover();
    if (document.body) look(document.body, true);
  }
  for (let top = 0; moment === "later" && top < end; top += innerHeight - 40) {
    window.scrollTo({ top, behavior: "instant" });
    await uiproofClock.rest();
    await uiproofClock.advance(top ? BETWEEN_MS : LATER_MS);
    await uiproofClock.rest();
    const root = seen.cover() ?? document.body;
    if (root) look(root, false);
  }
  const isShown = (element) =>
    element.isConnected && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  // Scripts may replace elements by equal ones; style rules do not.
  const stays = ({ text, parent }) => found.has(text) && (moment === "later" || !parent || isShown(parent));
  const gone = listed.flatMap((one, index) => (one && one.top < end && !stays(one) ? [index] : []));
  if (moment === "hovered" && gone.length <= MOST_HOVERED * listed.length) return null;
  // The outermost element around a text that is no longer shown.
  const left = new Set();
  for (const index of gone) {
    let [outermost, up] = [null, listed[index].parent];
    for (; up && up !== document.body && !isShown(up); up = parents.get(up)) outermost = up;
    if (outermost) left.add(outermost);
  }
  const boxes = [...left].map((element) => places.get(element)).filter(Boolean);
  const known = new Set(listed.filter(Boolean).map(({ text }) => text));
  return { gone, boxes, others: [...found].filter((text) => !known.has(text)).length };
}
