// Scrolls an element, or a point of the page, into the window and finds a point of it that a pointer
// can reach. Returns window coordinates.
//
// ref    the number of the element; or
// point  [x, y] on the whole page
// kind   the kind of action
({ ref, point, kind }) => {
  const INTO_VIEW = { behavior: "instant", inline: "nearest" };
  const plain = globalThis.uiproof.plain;
  const told = (node) => {
    const element = plain(node);
    const id = element.getAttribute("id");
    const names = (element.getAttribute("class") || "").trim().split(/\s+/).slice(0, 2).join(" ");
    return `<${element.localName}${id ? ` id="${id.slice(0, 40)}"` : ""}${names ? ` class="${names.slice(0, 60)}"` : ""}>`;
  };
  const framesAround = function* (element) {
    let view = plain(element).ownerDocument.defaultView;
    while (view && view !== window && view.frameElement) {
      yield view.frameElement;
      view = view.parent;
    }
  };
  const offsetOf = (element) => {
    let [dx, dy] = [0, 0];
    for (const frame of framesAround(element)) {
      const rect = frame.getBoundingClientRect();
      dx += rect.left + frame.clientLeft;
      dy += rect.top + frame.clientTop;
    }
    return [dx, dy];
  };
  const deepest = (x, y) => {
    let place = plain(document);
    let hit = null;
    for (let depth = 0; depth < 50; depth++) {
      const next = place.elementFromPoint(x, y);
      if (!next || next === hit) break;
      hit = next;
      if (next.shadowRoot) place = next.shadowRoot;
      else if (next.localName === "iframe" || next.localName === "frame") {
        try {
          if (!next.contentDocument) break;
          const rect = next.getBoundingClientRect();
          x -= rect.left + next.clientLeft;
          y -= rect.top + next.clientTop;
          place = plain(next.contentDocument);
        } catch {
          break;
        }
      } else break;
    }
    return hit;
  };
  const up = (node) => {
    const { parentNode, host, defaultView } = plain(node);
    return parentNode ?? host ?? defaultView?.frameElement ?? null;
  };
  const contains = (outer, inner) => {
    for (let node = inner; node; node = up(node)) if (node === outer) return true;
    return false;
  };
  const visibleRects = (element) => {
    const [dx, dy] = offsetOf(element);
    const rects = [];
    for (const rect of plain(element).getClientRects()) {
      const left = Math.max(rect.left + dx, 0);
      const top = Math.max(rect.top + dy, 0);
      const right = Math.min(rect.right + dx, innerWidth);
      const bottom = Math.min(rect.bottom + dy, innerHeight);
      if (right - left >= 1 && bottom - top >= 1) rects.push({ left, top, right, bottom });
    }
    return rects;
  };
  const hasArea = (element) =>
    [...plain(element).getClientRects()].some((rect) => rect.width >= 1 && rect.height >= 1) &&
    getComputedStyle(element).visibility === "visible";

  if (!ref) {
    const inside = () => {
      const [x, y] = [point[0] - scrollX, point[1] - scrollY];
      return x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    };
    if (!inside()) {
      window.scrollTo({
        left: point[0] - innerWidth / 2,
        top: point[1] - innerHeight / 2,
        behavior: "instant",
      });
    }
    if (!inside()) return { problem: "it lies outside of the page" };
    const [x, y] = [point[0] - scrollX, point[1] - scrollY];
    const hit = deepest(x, y);
    if (!hit) return { problem: "nothing is there" };
    return { x, y, ref: globalThis.uiproof.refOf(hit), rect: [x - 20, y - 10, x + 20, y + 10] };
  }

  const node = globalThis.uiproof.element(ref);
  const element = node && plain(node);
  if (!element?.isConnected) return { problem: "it is no longer on the page" };
  const isRoot = element.localName === "html" || element.localName === "body";
  if (kind !== "hover" && kind !== "scroll" && element.matches(":disabled")) {
    return { problem: "it is disabled" };
  }
  // A field hidden behind its label is reached through the label, a mere container through its
  // children.
  let target = node;
  if (!hasArea(node)) {
    target =
      [...(element.labels ?? [])].find(hasArea) ?? [...element.querySelectorAll("*")].find(hasArea) ?? null;
    if (!target) return { problem: "it is not visible" };
  }
  const accepted = (hit) => {
    if (!hit) return 0;
    if (contains(target, hit)) return 3;
    const label = plain(hit).closest("label");
    if (label && (label.control === node || contains(label, node))) return 2;
    if ([...(element.labels ?? [])].some((one) => contains(one, hit))) return 2;
    return contains(hit, target) ? 1 : 0;
  };
  const look = () => {
    let best = { worth: 0 };
    let cover = null;
    for (const { left, top, right, bottom } of visibleRects(target)) {
      for (const [fx, fy] of POINTS) {
        const [x, y] = [left + (right - left) * fx, top + (bottom - top) * fy];
        const hit = deepest(x, y);
        const worth = accepted(hit);
        if (worth > best.worth) best = { worth, x, y };
        if (worth === 3) return best;
        if (!worth) cover ??= hit;
      }
    }
    return { ...best, cover };
  };
  const SHARES = [0.5, 0.25, 0.75, 0.1, 0.9];
  const POINTS = SHARES.flatMap((fy) => SHARES.map((fx) => [fx, fy]));
  const rectsAreAll = () => {
    const rect = plain(target).getBoundingClientRect();
    const [dx, dy] = offsetOf(target);
    const [x, y] = [rect.left + dx + rect.width / 2, rect.top + dy + rect.height / 2];
    return x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
  };
  const bring = (block) => {
    plain(target).scrollIntoView({ ...INTO_VIEW, block });
    for (const frame of framesAround(target)) frame.scrollIntoView({ ...INTO_VIEW, block });
  };
  let best = look();
  if (!isRoot && (best.worth < 2 || !rectsAreAll())) {
    for (const block of ["nearest", "center", "start"]) {
      bring(block);
      best = look();
      if (best.worth >= 2) break;
    }
  }
  if (!best.worth) {
    return { problem: best.cover ? `it is covered by ${told(best.cover)}` : "it is not visible" };
  }
  // An option is selected without the pointer, but a person needs the pointer or the keyboard.
  if (kind === "select" && best.worth < 2 && element.tabIndex < 0) {
    return { problem: "it is out of reach of pointer and keyboard" };
  }
  const [dx, dy] = offsetOf(target);
  const rect = plain(target).getBoundingClientRect();
  return {
    ref,
    x: best.x,
    y: best.y,
    rect: [rect.left + dx, rect.top + dy, rect.right + dx, rect.bottom + dy],
  };
}
