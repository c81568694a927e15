// Lets the page's clock run on and scrolls through the page, as a reader does, and returns which of
// the texts that `inventory` has listed were never visible in all that time, and how many others were.
// The page's scripts run.
async () => {
  const LATER_MS = 9000; // the moment of the first look
  const BETWEEN_MS = 300; // from one look to the next
  const MOST_WINDOWS = 15; // that are looked at, from the top
  // As the page was before `recolor`.
  for (const [element, style] of globalThis.uiproofStyles ?? []) {
    if (style === null) element.removeAttribute("style");
    else element.setAttribute("style", style);
  }
  const owners = globalThis.uiproofTexts ?? [];
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  const listed = owners.map(({ node }) => {
    if (!node) return null;
    const range = document.createRange();
    range.selectNodeContents(node);
    return { text: plain(node.data), top: range.getBoundingClientRect().top + scrollY };
  });
  const found = new Set();
  const look = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    const range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.shadowRoot) look(node.shadowRoot);
        continue;
      }
      const text = plain(node.data);
      if (!text || found.has(text)) continue;
      const parent = node.parentElement ?? node.getRootNode().host;
      range.selectNodeContents(node);
      const { left, right, top, bottom, width, height } = range.getBoundingClientRect();
      const inWindow = right > 0 && left < innerWidth && bottom > 0 && top < innerHeight;
      if (!inWindow || !width || !height) continue;
      if (parent?.checkVisibility({ opacityProperty: true, visibilityProperty: true })) found.add(text);
    }
  };
  const height = document.scrollingElement?.scrollHeight ?? 0;
  const end = Math.min(height, MOST_WINDOWS * innerHeight);
  for (let top = 0; top < end; top += innerHeight - 40) {
    window.scrollTo({ top, behavior: "instant" });
    await uiproofClock.rest();
    await uiproofClock.advance(top ? BETWEEN_MS : LATER_MS);
    await uiproofClock.rest();
    const root = seen.cover() ?? document.body;
    if (root) look(root);
  }
  const gone = listed.flatMap((one, index) => (one && one.top < end && !found.has(one.text) ? [index] : []));
  const known = new Set(listed.filter(Boolean).map(({ text }) => text));
  return { gone, others: [...found].filter((text) => !known.has(text)).length };
}
