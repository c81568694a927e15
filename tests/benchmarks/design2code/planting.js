// Plants faults into a page. `source` is its HTML, which is edited apart from the page that is shown: a
// page's own scripts have no say. Returns the HTML with the faults, and each fault's kind and its box
// before. The seed and the fault's own `place` decide where it goes, whatever else is planted. `only` are the
// numbers of the faults to plant, where not all of them are. Elements with faults have the attribute data-planted.
({ source, seed, faults, only }) => {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const pick = (list) => list[Math.floor(random() * list.length)];
  const shuffled = (list) => list.map((one) => [random(), one]).sort((a, b) => a[0] - b[0]).map(([, one]) => one);
  const WORDS = "amber canyon drift ember fathom gravel harbor island juniper kettle lantern meadow nickel orchard pebble quarry ribbon saddle timber umbra velvet willow".split(" ");

  const copy = new DOMParser().parseFromString(source, "text/html");
  const twin = (element) => {
    const path = [];
    for (let at = element; at !== document.body; at = at.parentElement) path.unshift([...at.parentElement.children].indexOf(at));
    return path.reduce((at, index) => at?.children[index], copy.body);
  };
  const rect = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return [left + scrollX, top + scrollY, width, height];
  };
  const words = (element) => element.innerText?.trim() ?? "";
  const own = (element) => [...element.childNodes].filter((one) => one.nodeType === 3 && one.data.trim());
  const INLINE = new Set(["inline", "contents"]);
  const style = (element) => getComputedStyle(element);
  const shown = (element) => {
    const [x, y, w, h] = rect(element);
    return w >= 10 && h >= 8 && x >= 0 && y >= 0 && x + w <= document.documentElement.scrollWidth && style(element).visibility === "visible" && style(element).opacity > 0.5 && style(element).display !== "inline";
  };
  // Scrolled or hidden by what holds it.
  const isCut = (element) => {
    const [x, y, w, h] = rect(element);
    for (let at = element.parentElement; at; at = at.parentElement) {
      if (style(at).overflowX === "visible" && style(at).overflowY === "visible") continue;
      const isPage = at === document.body || at === document.documentElement;
      if (isPage && style(at).overflowX !== "hidden" && style(at).overflowY !== "hidden") continue;
      const [a, b, c, d] = rect(at);
      const across = Math.min(x + w, a + c) - Math.max(x, a);
      const down = Math.min(y + h, b + d) - Math.max(y, b);
      if (across < 0.9 * w || down < 0.9 * h) return true;
    }
    return false;
  };
  const all = [...document.body.querySelectorAll("*")].filter(
    (one) => !one.closest("svg, noscript, script, style, select, iframe") && one.localName !== "br" && shown(one) && !isCut(one) && twin(one)?.localName === one.localName,
  );
  const pageArea = document.documentElement.scrollWidth * document.documentElement.scrollHeight;
  const area = (element) => rect(element)[2] * rect(element)[3];
  const opaque = (css) => !/^rgba\(.*, (0|0\.\d+)\)$/.test(css) && css !== "transparent";
  const texts = (element) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    let count = 0;
    while (walker.nextNode()) count += walker.currentNode.data.trim() ? 1 : 0;
    return count;
  };
  const isLeaf = (one) => own(one).length && texts(one) === own(one).length && words(one).length > 2;
  const inFlow = (one) => style(one).position === "static" && style(one).float === "none";
  const planted = [];
  const free = (one) => planted.every((other) => !other.contains(one) && !one.contains(other));
  const recolored = (css, size) => {
    const [r, g, b] = css.match(/[\d.]+/g).map(Number);
    const by = [26, 70, 150][size];
    const move = (value) => Math.round(value + by <= 255 ? value + by : value - by);
    return random() < 0.5 ? `rgb(${move(r)}, ${g}, ${move(b)})` : `rgb(${r}, ${move(g)}, ${move(b)})`;
  };
  const isBare = (one) => ["block", "flex", "grid", "list-item", "table"].includes(style(one).display);
  const holds = (one, more) => texts(one) >= more && area(one) < pageArea * 0.25;

  const candidates = {
    missing: (size) => all.filter((one) => (size === 0 ? isLeaf(one) || one.localName === "img" : holds(one, size === 1 ? 2 : 4) && one.parentElement !== document.body) && area(one) < pageArea * 0.25),
    extra: (size) => all.filter((one) => (size === 0 ? isLeaf(one) : holds(one, size === 1 ? 2 : 4)) && inFlow(one) && !["td", "th", "tr", "tbody", "body"].includes(one.localName)),
    text: () => all.filter((one) => isLeaf(one) && words(one).split(/\s+/).length > 1),
    colour: () => all.filter(isLeaf),
    background: () => all.filter((one) => opaque(style(one).backgroundColor) && style(one).backgroundImage === "none" && area(one) > 600),
    moved: () => all.filter((one) => one.parentElement.children.length > 1 && style(one).position === "static" && (isLeaf(one) || one.localName === "img" || holds(one, 2)) && !["td", "th", "tr", "tbody", "thead"].includes(one.localName)),
    resized: () => all.filter((one) => ["img", "button", "input", "textarea"].includes(one.localName) || (opaque(style(one).backgroundColor) && isLeaf(one) && style(one).display !== "table-cell")),
    font: () => all.filter(isLeaf),
    spacing: () => all.filter((one) => isBare(one) && inFlow(one) && texts(one) > 0 && one.previousElementSibling && shown(one.previousElementSibling) && rect(one.previousElementSibling)[1] + rect(one.previousElementSibling)[3] <= rect(one)[1] + 1),
    picture: () => all.filter((one) => one.localName === "img" && area(one) > 500),
    order: () => all.filter((one) => one.nextElementSibling && all.includes(one.nextElementSibling) && one.nextElementSibling.localName === one.localName && words(one) !== words(one.nextElementSibling) && words(one) && words(one.nextElementSibling) && area(one) < pageArea * 0.2 && style(one).position === "static" && !["td", "th"].includes(one.localName)),
  };
  const reworded = (data, share) => {
    const parts = data.split(/(\s+)/);
    const places = shuffled(parts.map((part, index) => (part.trim() ? index : -1)).filter((index) => index >= 0));
    for (const index of places.slice(0, Math.max(1, Math.round(places.length * share)))) parts[index] = pick(WORDS);
    return parts.join("");
  };
  const plant = {
    missing: (element, live) => (element.remove(), [rect(live)]),
    extra: (element) => {
      const added = element.cloneNode(true);
      added.removeAttribute("id");
      const walker = copy.createTreeWalker(added, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) if (walker.currentNode.data.trim()) walker.currentNode.data = reworded(walker.currentNode.data, 1);
      element.after(added);
      return added;
    },
    text: (element, live, size) => {
      const node = [...element.childNodes].find((one) => one.nodeType === 3 && one.data.trim());
      node.data = reworded(node.data, [0.01, 0.5, 1][size]);
    },
    colour: (element, live, size) => element.style.setProperty("color", recolored(style(live).color, size), "important"),
    background: (element, live, size) => element.style.setProperty("background-color", recolored(style(live).backgroundColor, size), "important"),
    moved: (element, live, size) => {
      // To a place where it does not lie on other texts, if there is one.
      const [x, y, w, h] = rect(live);
      const by = [8, 20, 48][size];
      const others = all.filter((one) => isLeaf(one) && !live.contains(one) && !one.contains(live)).map(rect);
      const isFree = ([dx, dy]) =>
        x + dx >= 0 && y + dy >= 0 && x + w + dx <= document.documentElement.scrollWidth &&
        others.every(([a, b, c, d]) => a >= x + dx + w || a + c <= x + dx || b >= y + dy + h || b + d <= y + dy);
      // In the same direction whatever the distance, so that sizes can be compared.
      const ways = shuffled([[1, 0], [-1, 0], [0, 1], [0, -1]]);
      const way = ways.find(([a, b]) => isFree([48 * a, 48 * b])) ?? ways.find(([a, b]) => isFree([by * a, by * b])) ?? [1, 0];
      const [dx, dy] = way.map((one) => one * by);
      element.style.position = "relative";
      element.style.left = `${dx}px`;
      element.style.top = `${dy}px`;
    },
    resized: (element, live, size) => {
      const by = random() < 0.5 ? [0.85, 0.65, 0.45][size] : [1.15, 1.35, 1.7][size];
      const [, , w, h] = rect(live);
      if (live.localName === "img" && random() < 0.5) {
        element.style.width = `${w * by}px`;
        element.style.height = `${h * by}px`;
      } else if (random() < 0.5 || by < 1) {
        element.style.boxSizing = "border-box";
        element.style.width = `${w * by}px`;
        element.style.minWidth = "0";
      } else {
        element.style.boxSizing = "border-box";
        element.style.height = `${h * by}px`;
      }
    },
    font: (element, live, size) => {
      const which = random();
      if (which < 0.6) element.style.fontSize = `${parseFloat(style(live).fontSize) * [1.15, 1.35, 1.7][size]}px`;
      else if (which < 0.8) element.style.fontWeight = +style(live).fontWeight >= 600 ? "400" : "700";
      else element.style.fontFamily = /mono/i.test(style(live).fontFamily) ? "serif" : "monospace";
    },
    spacing: (element, live, size) => {
      element.style.marginTop = `${parseFloat(style(live).marginTop) + [8, 24, 60][size]}px`;
    },
    picture: (element, live) => {
      const hue = Math.floor(random() * 360);
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 60" preserveAspectRatio="none"><rect width="80" height="60" fill="hsl(${hue},70%,60%)"/><circle cx="40" cy="30" r="22" fill="hsl(${hue + 150},80%,30%)"/><path d="M0 60L30 20L80 55z" fill="hsl(${hue + 70},60%,45%)"/></svg>`;
      const [, , w, h] = rect(live);
      element.removeAttribute("srcset");
      element.src = `data:image/svg+xml;base64,${btoa(svg)}`;
      element.style.width = `${w}px`;
      element.style.height = `${h}px`;
    },
    order: (element) => element.nextElementSibling.after(element),
  };
  const found = [];
  for (const { kind, size, place } of faults) {
    state = (seed + 7919 * place) >>> 0;
    const live = shuffled(candidates[kind](size)).find((one) => free(one) && (kind !== "order" || free(one.nextElementSibling)));
    if (!live) continue;
    const element = twin(live);
    const before = [rect(live)];
    if (kind === "order") before.push(rect(live.nextElementSibling));
    planted.push(live, ...(kind === "order" ? [live.nextElementSibling] : []));
    found.push({ kind, size, place, live, element, before });
  }
  for (const one of found) {
    if (only && !only.includes(found.indexOf(one))) continue;
    state = (seed + 7919 * one.place + 1) >>> 0;
    const changed = plant[one.kind](one.element, one.live, one.size);
    const marked = one.kind === "extra" ? changed : one.element;
    marked.setAttribute("data-planted", found.indexOf(one));
  }
  return {
    // A page without a document type is laid out by other rules.
    html: (copy.doctype ? new XMLSerializer().serializeToString(copy.doctype) + "\n" : "") + copy.documentElement.outerHTML,
    faults: found.map(({ kind, size, before }) => ({ kind, size, before })),
  };
}
