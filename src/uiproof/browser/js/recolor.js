// Gives every text element a unique colour, the same in every call, and (in the first call) returns
// the colour of each text. Backgrounds become transparent.
//
// offset  added to every channel, modulo 256: two calls with different offsets make text the only
//         thing that changes by that much
// group   which 4096 elements get colours; there are 4096 colours
// list    whether to return the text nodes
//
// Text that this does not reach (of other elements, in another fill colour, in pseudo-elements and
// controls, below an opacity or a filter) gets a spare colour: its red changes between two calls
// and its green does not, so it never looks like text that has moved by the offset. `texts` holds
// the colour and the lines of every text that `inventory` has found.
({ offset, group, list }) => {
  const OWN_COLOR = new Set(
    ("p h1 h2 h3 h4 h5 h6 div span a b li table td th button footer header figcaption").split(" "),
  );
  const POOL = 4096;
  const LOST = -1;
  const SPARE = 256; // how many spare colours there are; they are used again after that
  const FIRST_SPARE = 4 * POOL;
  const FAINT = 0.98; // below this opacity, a colour is no longer recognised

  const all = [...document.querySelectorAll("*")].filter((element) => element.style);
  const listed = all.filter((element) => OWN_COLOR.has(element.localName));

  // The colour that the reference implementation takes an element of another kind to have: the
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

  const owners = globalThis.uiproofTexts || [];
  const textNodes = (indexOf) => {
    const places = new Map(owners.map((owner, place) => [owner.node, place]));
    const found = [];
    const walk = (node, index) => {
      for (const child of node.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) {
          if (child.data.trim()) found.push([child.data, index, places.get(child) ?? -1]);
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
  // makes the browser serialise them again, so the owners of text are found once, before that.
  let coloured = listed;
  if (listed.length > POOL && !list) {
    coloured = globalThis.uiproofColoured;
  } else if (listed.length > POOL) {
    const positions = new Map(listed.map((element, index) => [element, index]));
    const withText = new Set(textNodes(positions).map(([, index]) => index));
    coloured = listed.filter((_, index) => withText.has(index));
    globalThis.uiproofColoured = coloured;
  }
  const indexOf = new Map(coloured.map((element, index) => [element, index]));
  const nodes = list ? textNodes(indexOf) : null;

  // Elements that change the colours of all text in them. Their filter or opacity is replaced by one
  // with almost no effect, so that the painting order stays the same.
  const NEUTRAL = new RegExp(
    "drop-shadow\\((?:[^()]|\\([^()]*\\))*\\)|" +
      "(?:grayscale|sepia|invert|blur|hue-rotate)\\(0(?:px|deg)?\\)|" +
      "(?:brightness|contrast|saturate|opacity)\\((?:0\\.9[789]\\d*|1(?:\\.0[0-3]\\d*)?)\\)|\\s+",
    "g",
  );
  const veiled = new Map();
  const findVeils = () => {
    for (const element of all) {
      const { opacity, filter } = getComputedStyle(element);
      const veils = [];
      if (parseFloat(opacity) < FAINT && !OWN_COLOR.has(element.localName)) {
        veils.push(["opacity", "0.9999"]);
      }
      if (filter !== "none" && filter.replace(NEUTRAL, "")) veils.push(["filter", "blur(0px)"]);
      if (veils.length) veiled.set(element, veils);
    }
  };
  if (list) {
    findVeils();
    globalThis.uiproofStyles = all.map((element) => [element, element.getAttribute("style")]);
  }

  if (list || group > 0) {
    for (const element of all) {
      element.style.setProperty("transition", "none", "important");
      element.style.setProperty("background-color", "rgba(255, 255, 255, 0)", "important");
    }
    for (const element of listed) element.style.setProperty("opacity", "1", "important");
  }
  const channel = (value) => (10 + 16 * (value & 15) + offset) % 256;
  const colorOf = (element) => {
    const index = indexOf.get(element);
    if (index === undefined || Math.floor(index / POOL) !== group) return "rgb(0, 0, 0)";
    const place = POOL - 1 - (index % POOL);
    return `rgb(${channel(place >> 8)}, ${channel(place >> 4)}, ${channel(place)})`;
  };
  for (const element of listed) element.style.setProperty("color", colorOf(element), "important");

  // The nearest element with a unique colour, and whether an ancestor changes that colour.
  const surroundings = new Map();
  const around = (element) => {
    if (!element) return { painter: null, isVeiled: false };
    if (!surroundings.has(element)) {
      const outer = around(element.parentElement || element.getRootNode().host);
      surroundings.set(element, {
        painter: OWN_COLOR.has(element.localName) ? element : outer.painter,
        isVeiled: outer.isVeiled || veiled.has(element),
      });
    }
    return surroundings.get(element);
  };
  const isDrawing = (element) => element.namespaceURI === "http://www.w3.org/2000/svg";

  // Find the texts that need a spare colour, all before any style changes.
  const chooseSpares = () => {
    const spares = new Map();
    const codes = owners.map(({ element, pseudo, node }) => {
      const style = getComputedStyle(element, pseudo);
      const shown = isDrawing(element) ? style.fill : style.webkitTextFillColor;
      const { painter, isVeiled } = around(element);
      const index = indexOf.get(painter);
      const isPainted = node || pseudo || isDrawing(element);
      if (isPainted && !isVeiled && index !== undefined && shown === colorOf(painter)) return index;
      if (!spares.has(element)) spares.set(element, {});
      const own = spares.get(element);
      const name = pseudo || "itself";
      if (!own[name]) {
        const number = globalThis.uiproofSpares.length % SPARE;
        const property = node && shown === style.color ? "color" : "-webkit-text-fill-color";
        own[name] = { element, pseudo, number, property };
        globalThis.uiproofSpares.push(own[name]);
      }
      return FIRST_SPARE + own[name].number;
    });
    for (const [element, veils] of veiled) {
      for (const [name, value] of veils) element.style.setProperty(name, value, "important");
    }
    return codes;
  };
  // The style attribute does not reach pseudo-elements: they are coloured by a style sheet.
  const MARK = "data-uiproof-text";
  const paintSpares = () => {
    const rules = [];
    for (const { element, pseudo, number, property } of globalThis.uiproofSpares) {
      const digit = (value) => 2 + 16 * (value & 15);
      const color = `rgb(${offset ? 220 : 30}, ${digit(number >> 4)}, ${digit(number)})`;
      if (pseudo) {
        const mark = `${MARK}${pseudo.replace("::", "-")}`;
        element.setAttribute(mark, number);
        const chosen = `[${mark}="${number}"]`.repeat(4);
        rules.push(`${chosen}${pseudo} { -webkit-text-fill-color: ${color} !important }`);
      } else if (isDrawing(element)) {
        for (const part of [element, ...element.querySelectorAll("*")]) {
          part.style.setProperty("fill", color, "important");
        }
      } else element.style.setProperty(property, color, "important");
    }
    if (!rules.length) return;
    if (list) {
      globalThis.uiproofSheet = new CSSStyleSheet();
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, globalThis.uiproofSheet];
    }
    globalThis.uiproofSheet.replaceSync(rules.join("\n"));
  };
  const range = document.createRange();
  const linesOf = (node) => {
    range.selectNodeContents(node);
    return [...range.getClientRects()]
      .filter(({ width, height }) => width >= 0.5 && height >= 0.5)
      .map(({ left, top, width, height }) =>
        [left + scrollX, top + scrollY, width, height].map((one) => Math.round(one * 10) / 10),
      );
  };
  let texts = null;
  if (list) {
    globalThis.uiproofSpares = [];
    const codes = chooseSpares();
    texts = owners.map(({ element, pseudo, node }, place) => [
      codes[place],
      node ? "node" : pseudo ? "pseudo" : "element",
      parseFloat(getComputedStyle(element, pseudo).fontSize),
      node ? linesOf(node) : [],
    ]);
  }
  if (group === 0) paintSpares();
  return { nodes, texts, coloured: coloured.length };
}
