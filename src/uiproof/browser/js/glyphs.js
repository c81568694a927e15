// Returns which characters are drawn as an empty box because no font of the machine has them, and
// which of these no font of the page has either.
(characters) => {
  const SIDE = 48;
  const ABSENT = "\u{10FFFE}"; // not a character, so no font has it
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  pen.canvas.width = pen.canvas.height = SIDE;
  const drawn = (text, font) => {
    pen.clearRect(0, 0, SIDE, SIDE);
    pen.font = font;
    pen.fillText(text, 4, 38);
    return pen.getImageData(0, 0, SIDE, SIDE).data.join();
  };
  const boxes = new Map();
  const isBox = (character, font) => {
    if (!boxes.has(font)) boxes.set(font, drawn(ABSENT, font));
    return drawn(character, font) === boxes.get(font);
  };

  // The browser looks for a glyph in every installed font, so any font will do for the test.
  const missing = new Set([...characters].filter((one) => isBox(one, "32px sans-serif")));
  if (!missing.size) return { machine: [], page: [] };

  // A font of the page may have it: try the fonts in which it is written.
  const fonts = new Map([...missing].map((one) => [one, new Set()]));
  const note = (text, element) => {
    let font = null;
    for (const one of text) {
      if (!missing.has(one)) continue;
      if (!font) {
        const style = getComputedStyle(element);
        font = `${style.fontStyle} ${style.fontWeight} 32px ${style.fontFamily}`;
      }
      fonts.get(one).add(font);
    }
  };
  const visit = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.parentElement) note(node.data, node.parentElement);
      return;
    }
    if (node.localName === "input" || node.localName === "textarea") {
      note(`${node.value}${node.placeholder}`, node);
    }
    for (const child of node.shadowRoot?.childNodes ?? []) visit(child);
    for (const child of node.childNodes) visit(child);
  };
  if (document.fonts.size && document.body) visit(document.body);
  const boxed = (one) => {
    const written = [...fonts.get(one)];
    return !written.length || written.some((font) => isBox(one, font));
  };
  return { machine: [...missing], page: [...missing].filter(boxed) };
}
