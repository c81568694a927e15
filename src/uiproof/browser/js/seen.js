// Visibility by layout and styles: one definition for every script that lists the content of a page
// (see `script` in page.py). Overlapping paint is not considered here.
(() => {
  const UNSEEN = 0.05; // opacity below which nothing is seen
  const LOWEST = 6; // pixels: lower lines of letters cannot be read
  const SMALLEST = 6; // pixels: smaller letters cannot be read
  const TIGHTEST = -0.2; // of their size: closer letters run into each other
  const BLURRED = 0.12; // of their size: more blurred letters cannot be read
  const NARROWEST = 0.4; // of their usual width to height, or the other way round
  const MOST_WORDS = 1000; // of one text that is cut off
  const LONGEST_WORD = 12; // longer ones are looked at in pieces
  const LEAST_SHOWN = 0.5; // of a text that an ellipsis cuts off, or it says nothing

  const intersect = (a, b) => {
    const x = Math.max(a.x, b.x);
    const y = Math.max(a.y, b.y);
    return {
      x,
      y,
      w: Math.max(0, Math.min(a.x + a.w, b.x + b.w) - x),
      h: Math.max(0, Math.min(a.y + a.h, b.y + b.h) - y),
    };
  };
  const around = (a, b) => {
    if (!a) return b;
    const x = Math.min(a.x, b.x);
    const y = Math.min(a.y, b.y);
    return {
      x,
      y,
      w: Math.max(a.x + a.w, b.x + b.w) - x,
      h: Math.max(a.y + a.h, b.y + b.h) - y,
    };
  };
  const hasArea = (box) => box.w >= 1 && box.h >= 1;
  const toBox = (rect, { dx, dy }) => ({
    x: rect.left + dx,
    y: rect.top + dy,
    w: rect.width,
    h: rect.height,
  });

  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const colors = new Map();
  const rgba = (css) => {
    if (!colors.has(css)) {
      const plain = css.match(/^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/);
      if (plain) {
        colors.set(css, [+plain[1], +plain[2], +plain[3], plain[4] === undefined ? 1 : +plain[4]]);
      } else {
        pen.clearRect(0, 0, 1, 1);
        pen.fillStyle = "transparent";
        pen.fillStyle = css;
        pen.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
        colors.set(css, [r, g, b, Math.round((a / 255) * 1000) / 1000]);
      }
    }
    return colors.get(css);
  };

  // --- clipping

  const length = (text, whole) => {
    const [, share, sign, more] = text.match(/^calc\(([-\d.]+)% ([+-]) ([\d.]+)px\)$/) ?? [];
    if (share) return (share / 100) * whole + (sign === "-" ? -more : +more);
    const number = parseFloat(text);
    if (!Number.isFinite(number)) return 0;
    return text.trim().endsWith("%") ? (number / 100) * whole : number;
  };
  const shape = (path, box) => {
    const [, kind, inside] = path.match(/^([a-z]+)\(((?:[^()]|\([^()]*\))*)\)/) ?? [];
    const words = (text) => text.trim().split(/\s+(?![^(]*\))/);
    if (kind === "inset") {
      const sides = words(inside.split(" round ")[0]);
      const [top, right = top, bottom = top, left = right] = sides;
      const [x, y] = [length(left, box.w), length(top, box.h)];
      return {
        x: box.x + x,
        y: box.y + y,
        w: Math.max(0, box.w - x - length(right, box.w)),
        h: Math.max(0, box.h - y - length(bottom, box.h)),
      };
    }
    if (kind === "circle" || kind === "ellipse") {
      const [radii, place = "50% 50%"] = inside.split(/\s*\bat\b\s*/);
      const [across, down = across] = words(radii);
      if (!/^[\d.]/.test(across) || !/^[\d.]/.test(down)) return box;
      const diagonal = Math.hypot(box.w, box.h) / Math.SQRT2;
      const rx = length(across, kind === "circle" ? diagonal : box.w);
      const ry = length(down, kind === "circle" ? diagonal : box.h);
      const [left, top = "50%"] = words(place);
      const [x, y] = [box.x + length(left, box.w), box.y + length(top, box.h)];
      return { x: x - rx, y: y - ry, w: 2 * rx, h: 2 * ry };
    }
    if (kind === "polygon") {
      let whole = null;
      for (const point of inside.replace(/^(evenodd|nonzero),/, "").split(",")) {
        const [x, y] = words(point);
        if (y === undefined) return box;
        whole = around(whole, {
          x: box.x + length(x, box.w),
          y: box.y + length(y, box.h),
          w: 0,
          h: 0,
        });
      }
      return whole ?? box;
    }
    return null; // a path or a reference: pictures show what is left
  };
  const cutOut = (style, box) => {
    let cut = style.clipPath === "none" ? null : shape(style.clipPath, box);
    const rect = style.clip.match(/^rect\((.*)\)$/);
    if (rect && ["absolute", "fixed"].includes(style.position)) {
      const [top, right, bottom, left] = rect[1].split(/[\s,]+/);
      const edge = (text, auto) => (text === "auto" ? auto : parseFloat(text) || 0);
      const [x, y] = [edge(left, 0), edge(top, 0)];
      const part = {
        x: box.x + x,
        y: box.y + y,
        w: Math.max(0, edge(right, box.w) - x),
        h: Math.max(0, edge(bottom, box.h) - y),
      };
      cut = cut ? intersect(cut, part) : part;
    }
    return cut;
  };
  const opacityOf = (style) => {
    const filtered = style.filter.match(/\bopacity\(([\d.]+)(%?)\)/);
    const share = filtered ? Math.min(1, +filtered[1] / (filtered[2] ? 100 : 1)) : 1;
    return parseFloat(style.opacity) * share;
  };
  const holdsFixed = (style) =>
    style.transform !== "none" ||
    style.filter !== "none" ||
    style.perspective !== "none" ||
    (style.backdropFilter ?? "none") !== "none" ||
    ["scale", "rotate", "translate"].some((name) => (style[name] ?? "none") !== "none") ||
    /transform|filter|perspective/.test(style.willChange) ||
    /paint|layout|strict|content/.test(style.contain);

  // The effect of transforms and filters on letters: `matrix` is null without a transform.
  const turnedBy = (style, outer) => {
    const { transform, rotate = "none", scale = "none" } = style;
    let matrix = outer;
    const turn = (one) => (matrix = matrix ? matrix.multiply(one) : one);
    if (rotate !== "none") {
      const angle = rotate.split(" ").at(-1);
      const [x, y, z] = rotate.includes(" ") ? axis(rotate) : [0, 0, 1];
      turn(new DOMMatrix().rotateAxisAngle(x, y, z, parseFloat(angle)));
    }
    if (scale !== "none") {
      const [x, y = x] = scale.split(" ").map(parseFloat);
      turn(new DOMMatrix().scale(x, y));
    }
    if (transform !== "none") turn(new DOMMatrix(transform));
    return matrix;
  };
  const axis = (rotate) =>
    ({ x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] })[rotate[0]] ?? rotate.split(" ").map(parseFloat);
  const blurOf = (filter) => Math.max(0, ...[...filter.matchAll(/\bblur\(([\d.]+)px\)/g)].map(([, px]) => +px));
  // Whether letters are legible: not mirrored, upside down, squeezed, blurred or redrawn by a custom
  // filter.
  const isUpright = ({ matrix, blur, redrawn }, size) => {
    if (redrawn || blur > BLURRED * size) return false;
    if (!matrix) return true;
    const { a, b, c, d } = matrix;
    const [across, down] = [Math.hypot(a, b), Math.hypot(c, d)];
    if (a * d - b * c <= 0 || a < -0.2 * across) return false;
    return Math.min(across, down) >= NARROWEST * Math.max(across, down);
  };

  // The outermost visible area: a box of the whole page. `dx` and `dy` lead from the coordinates of a
  // window to those of the page.
  const start = (box, dx, dy) => ({
    ...{ opacity: 1, plain: true, clip: box, absolute: box, fixed: box, dx, dy },
    ...{ matrix: null, blur: 0, redrawn: false },
  });

  // The visibility of an element inside `outer`: `box` is its visible part, `inner` is the state for
  // its content. null where neither it nor its content is visible.
  const enter = (style, whole, outer, isRoot) => {
    if (style.display === "none") return null;
    const opacity = outer.opacity * opacityOf(style);
    if (opacity < UNSEEN) return null;
    let { clip, absolute, fixed } = outer;
    if (style.position === "fixed") clip = fixed;
    else if (style.position === "absolute") clip = absolute;
    const cut = cutOut(style, whole);
    if (cut) [clip, absolute, fixed] = [clip, absolute, fixed].map((one) => intersect(one, cut));
    const box = intersect(whole, clip);
    const plain =
      outer.plain && style.filter === "none" && style.mixBlendMode === "normal";
    const inner = { ...outer, opacity, plain, clip, absolute, fixed };
    inner.matrix = turnedBy(style, outer.matrix);
    if (style.filter !== "none") {
      inner.blur += blurOf(style.filter);
      inner.redrawn ||= style.filter.includes("url(");
    }
    const inline = style.display === "inline" || style.display === "contents";
    if (!isRoot && !inline) {
      const across = style.overflowX !== "visible";
      const down = style.overflowY !== "visible";
      inner.clip = {
        x: across ? box.x : clip.x,
        w: across ? box.w : clip.w,
        y: down ? box.y : clip.y,
        h: down ? box.h : clip.h,
      };
    }
    const holds = holdsFixed(style);
    if (holds || style.position !== "static") inner.absolute = inner.clip;
    if (holds) inner.fixed = inner.clip;
    return {
      box,
      inner,
      opacity,
      isShown: style.visibility === "visible",
      holdsUnseen: style.contentVisibility === "hidden",
    };
  };

  // The children that are drawn: all, except that a closed <details> shows only its summary.
  const drawnIn = (element) => {
    if (element.localName !== "details" || element.open) return [...element.childNodes];
    return [...element.children].filter((child) => child.localName === "summary").slice(0, 1);
  };

  // --- letters

  // The colour of letters with its opacity, or null if they are invisible. `plain` is true if they
  // have only that colour: no background clipped to them, no shadow.
  const letters = (style, inSvg = false) => {
    const size = parseFloat(style.fontSize);
    if (!inSvg && size < SMALLEST) return null; // drawings are scaled
    if (parseFloat(style.letterSpacing) < TIGHTEST * size) return null;
    const fill = inSvg ? style.fill : style.webkitTextFillColor || style.color;
    const painted = /^url/.test(fill);
    const [r, g, b, alpha] = painted ? rgba(style.color) : rgba(fill === "none" ? "#0000" : fill);
    const through = [style.webkitBackgroundClip, style.backgroundClip].includes("text");
    const stroked = inSvg ? style.stroke !== "none" : parseFloat(style.webkitTextStrokeWidth) > 0;
    const more = painted || through || stroked;
    // A shadow that is hardly blurred is legible by itself.
    const shadows = style.textShadow || "none";
    const sharp = [...shadows.matchAll(/px ([\d.]+)px(?:,|$)/g)].some(([, blur]) => blur <= 1);
    if (alpha < UNSEEN && !more && !sharp) return null;
    return { color: [r, g, b], alpha, plain: !more && shadows === "none" };
  };

  // All letters of a font, drawn side by side, because reading one picture is faster.
  const ALPHABET = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"];
  const SIDE = 64;
  const sheets = new Map();
  const sheetOf = (font) => {
    if (!sheets.has(font)) {
      const width = SIDE * ALPHABET.length;
      const board = new OffscreenCanvas(width, SIDE).getContext("2d", { willReadFrequently: true });
      board.font = font;
      ALPHABET.forEach((letter, place) => {
        board.save();
        board.beginPath();
        board.rect(SIDE * place, 0, SIDE, SIDE);
        board.clip();
        board.fillText(letter, SIDE * place + 16, 46);
        board.restore();
      });
      sheets.set(font, board.getImageData(0, 0, width, SIDE).data);
    }
    return sheets.get(font);
  };
  // One of them: grey levels of 12 x 12 cells, stretched over the ink.
  const CELLS = 12;
  const FLAT = 0.15; // deviation over mean of the grey levels of a bar
  const drawings = new Map();
  const drawing = (letter, font) => {
    const key = `${letter} ${font}`;
    if (drawings.has(key)) return drawings.get(key);
    const sheet = sheetOf(font);
    const start = SIDE * ALPHABET.indexOf(letter);
    const level = (x, y) => sheet[4 * (y * SIDE * ALPHABET.length + start + x) + 3];
    let [left, top, right, bottom] = [SIDE, SIDE, -1, -1];
    for (let y = 0; y < SIDE; y++) {
      const row = 4 * (y * SIDE * ALPHABET.length + start) + 3;
      for (let x = 0; x < SIDE; x++) {
        if (sheet[row + 4 * x] < 96) continue;
        if (x < left) left = x;
        if (x > right) right = x;
        if (top > y) top = y;
        bottom = y;
      }
    }
    let cells = null;
    if (right >= 0) {
      const [w, h] = [right + 1 - left, bottom + 1 - top];
      cells = new Float32Array(CELLS * CELLS);
      for (let at = 0; at < cells.length; at++) {
        let sum = 0;
        for (let sub = 0; sub < 9; sub++) {
          const across = ((at % CELLS) + ((sub % 3) + 0.5) / 3) / CELLS;
          const down = (Math.floor(at / CELLS) + (Math.floor(sub / 3) + 0.5) / 3) / CELLS;
          sum += level(left + Math.floor(across * w), top + Math.floor(down * h));
        }
        cells[at] = sum;
      }
      const mean = cells.reduce((a, b) => a + b) / cells.length;
      const norm = Math.hypot(...cells.map((one) => one - mean)) || 1;
      const isBar = norm < FLAT * mean * CELLS; // as dark everywhere: a bar or a box
      cells = { shape: cells.map((one) => (one - mean) / norm), ratio: Math.log(w / h), isBar };
    }
    drawings.set(key, cells);
    return cells;
  };
  const alike = (a, b) => {
    if (!a || !b) return 0;
    let shapes = 0;
    for (let at = 0; at < CELLS * CELLS; at++) shapes += a.shape[at] * b.shape[at];
    return shapes - 0.3 * Math.min(1, Math.abs(a.ratio - b.ratio));
  };

  // Letters that a font of the page draws as other letters. Installed fonts are trusted.
  const MACHINE = ["32px sans-serif", "32px serif", "32px monospace"];
  const MUCH_MORE = 0.25; // how much more a letter must look like another one than like itself
  const falseLetters = new Map();
  const isFalse = (letter, font) => {
    const key = `${letter} ${font}`;
    if (!falseLetters.has(key)) {
      const drawn = drawing(letter, font);
      const best = (other) => Math.max(...MACHINE.map((one) => alike(drawn, drawing(other, one))));
      const own = Math.max(best(letter.toLowerCase()), best(letter.toUpperCase()));
      // No letter is more than 1 like another one.
      const isOther = () => own + MUCH_MORE < 1.001 && ALPHABET.some((other) => best(other) > own + MUCH_MORE);
      const found = drawn && (drawn.isBar || isOther());
      falseLetters.set(key, found);
    }
    return falseLetters.get(key);
  };
  const STROKES = "1Iil"; // many honest fonts draw them as other letters, the 1 above all
  const MOST_FALSE = 0.3; // of the different letters of a text; beyond it the text is disguised
  const SMALLEST_FACE = 20; // percent; other machines may have such a face of their own fonts
  let [broughtFonts, tinyFonts] = [null, null];
  const isDisguised = (text, style) => {
    if (!broughtFonts) {
      const named = (faces) => new Set(faces.map((face) => face.family.replace(/["']/g, "").toLowerCase()));
      const faces = [...document.fonts];
      broughtFonts = named(faces.filter((face) => face.status === "loaded"));
      tinyFonts = named(faces.filter((face) => parseFloat(face.sizeAdjust) < SMALLEST_FACE));
    }
    if (!broughtFonts.size && !tinyFonts.size) return false;
    const families = style.fontFamily.toLowerCase().split(",").map((one) => one.replace(/["']/g, "").trim());
    if (families.some((one) => tinyFonts.has(one))) return true;
    if (!families.some((one) => broughtFonts.has(one))) return false;
    const different = [...new Set(text)].filter((one) => ALPHABET.includes(one) && !STROKES.includes(one));
    const font = `${style.fontStyle} ${style.fontWeight} 32px ${style.fontFamily}`;
    const wrong = different.filter((one) => isFalse(one, font));
    return wrong.length > MOST_FALSE * different.length;
  };

  // The text that a person reads if the style shows something else: nothing if an ellipsis leaves less
  // than a share of it.
  const readAs = (node, least) => {
    const parent = node.parentElement ?? node.getRootNode().host;
    const style = getComputedStyle(parent);
    let text = node.data;
    if (isDisguised(text, style)) return "";
    if ((style.webkitTextSecurity || "none") !== "none") text = text.replace(/\S/g, "•");
    const turned = style.unicodeBidi.includes("override") && style.direction === "rtl";
    if (turned || /[\u202d\u202e]/.test(text)) text = [...text].reverse().join("");
    for (let at = parent, up = 0; at && up < 3; at = at.parentElement, up++) {
      if (getComputedStyle(at).textOverflow !== "ellipsis" || at.scrollWidth <= at.clientWidth + 1) continue;
      text = text.trim();
      const letters = Math.floor((text.length * at.clientWidth) / at.scrollWidth) - 1;
      return letters < least * text.length ? "" : text.slice(0, letters);
    }
    return text;
  };

  // The visible words of a text and the box around them, or null. `cut` leaves out words outside of
  // the clip; callers that look at the pixels do not need that.
  const words = (node, at, cut = true) => {
    const parent = node.parentElement ?? node.getRootNode().host;
    if (!isUpright(at, parseFloat(getComputedStyle(parent).fontSize))) return null;
    const range = node.ownerDocument.createRange();
    const look = () => {
      let [area, seen, box] = [0, 0, null];
      for (const rect of range.getClientRects()) {
        if (rect.width < 0.5 || rect.height < 0.5) continue;
        area += rect.width * rect.height;
        const part = intersect(toBox(rect, at), at.clip);
        if (rect.height < LOWEST || !hasArea(part)) continue;
        seen += part.w * part.h;
        box = around(box, part);
      }
      return { share: area ? seen / area : 0, box };
    };
    range.selectNodeContents(node);
    const whole = look();
    if (!whole.box) return null;
    const shown = readAs(node, cut ? 0 : LEAST_SHOWN);
    if (shown !== node.data || !cut || whole.share > 0.95) {
      return shown ? { text: shown, box: whole.box } : null;
    }
    const kept = [];
    let box = null;
    let end = -1;
    for (const found of [...node.data.matchAll(/\S+/g)].slice(0, MOST_WORDS)) {
      for (let from = 0; from < found[0].length; from += LONGEST_WORD) {
        const first = found.index + from;
        const last = Math.min(first + LONGEST_WORD, found.index + found[0].length);
        range.setStart(node, first);
        range.setEnd(node, last);
        const one = look();
        if (one.share < 0.5 || !one.box) continue;
        if (kept.length && end !== first) kept.push(" ");
        kept.push(node.data.slice(first, last));
        end = last;
        box = around(box, one.box);
      }
    }
    return kept.length ? { text: kept.join(""), box } : null;
  };

  // --- covers

  const FRINGE = 0.03; // of the window, on each side, that a cover leaves free
  const fillsWindow = ({ left, top, right, bottom }) => {
    const [across, down] = [FRINGE * innerWidth, FRINGE * innerHeight];
    return left <= across && top <= down && right >= innerWidth - across && bottom >= innerHeight - down;
  };
  // Whether an element fills the window, also when the page is scrolled.
  const staysInFront = (element) => {
    const { position } = getComputedStyle(element);
    if (!fillsWindow(element.getBoundingClientRect())) return false;
    if (position !== "sticky") return position === "fixed";
    const end = document.documentElement.scrollHeight - innerHeight;
    if (end < 1) return true;
    window.scrollTo({ top: end / 2, behavior: "instant" });
    const stays = fillsWindow(element.getBoundingClientRect());
    window.scrollTo({ top: 0, behavior: "instant" });
    return stays;
  };
  const POINTS = [[0.5, 0.5], [0.05, 0.05], [0.95, 0.05], [0.05, 0.95], [0.95, 0.95]];
  // The element that covers the whole window at every scroll position, so that nothing else of the
  // page is ever visible; or null.
  const cover = () => {
    const isOpaque = (style) => rgba(style.backgroundColor)[3] >= 0.95 && opacityOf(style) >= 0.95;
    const over = (element) => {
      if (element.matches("dialog:modal") && isOpaque(getComputedStyle(element, "::backdrop"))) return true;
      return staysInFront(element) && isOpaque(getComputedStyle(element));
    };
    return topmost(over);
  };
  // Whether something that may hide the page stays in front of the whole window. Pictures show
  // whether it does hide it.
  const isVeiled = () => {
    const paints = (style) => opacityOf(style) >= 0.5 && rgba(style.backgroundColor)[3] >= 0.5;
    if (topmost(staysInFront)) return true;
    const outer = [document.documentElement, document.body, ...(document.body?.children ?? [])];
    return outer.slice(0, MOST_OUTER).some(
      (element) =>
        element &&
        ["::before", "::after"].some((which) => {
          const style = getComputedStyle(element, which);
          if (style.content === "none" || style.position !== "fixed") return false;
          const isLarge = parseFloat(style.width) >= innerWidth && parseFloat(style.height) >= innerHeight;
          return isLarge && !(parseInt(style.zIndex) < 0) && (paints(style) || style.backgroundImage !== "none");
        }),
    );
  };
  const MOST_OUTER = 100; // elements whose pseudo-elements are looked at
  // The element that is in front of the page everywhere and for which `over` holds; or null.
  const topmost = (over) => {
    // An element that lets the pointer through can hide just as much.
    const fixed = [...document.querySelectorAll("*")].filter((element) => {
      const style = getComputedStyle(element);
      return style.position === "fixed" && style.pointerEvents === "none" && element.style;
    });
    const before = fixed.map((element) => element.getAttribute("style"));
    for (const element of fixed) element.style.setProperty("pointer-events", "auto", "important");
    const at = ([x, y]) => {
      let found = document.elementFromPoint(innerWidth * x, innerHeight * y);
      while (found && !over(found)) found = found.parentElement;
      return found;
    };
    const [first, ...rest] = POINTS.map(at);
    fixed.forEach((element, index) => {
      if (before[index] === null) element.removeAttribute("style");
      else element.setAttribute("style", before[index]);
    });
    return first && rest.every((one) => one === first) ? first : null;
  };
  // The scrollable part of a page of `width` x `height`.
  const reach = (width, height) => {
    const styles = [document.documentElement, document.body].filter(Boolean).map((one) => getComputedStyle(one));
    // The window scrolls by the style of the root, or of the body if the root has none.
    const style = styles.find(({ overflowX, overflowY }) => overflowX !== "visible" || overflowY !== "visible");
    const isStuck = (overflow) => ["hidden", "clip"].includes(overflow);
    return {
      w: style && isStuck(style.overflowX) ? Math.min(width, innerWidth) : width,
      h: style && isStuck(style.overflowY) ? Math.min(height, innerHeight) : height,
    };
  };

  // The text that a style sheet adds before or after the content of an element, or null.
  const pseudo = (element, which) => {
    const style = getComputedStyle(element, which);
    const quoted = style.content.match(/"(?:[^"\\]|\\.)*"/g);
    if (!quoted || style.display === "none" || style.visibility !== "visible") return null;
    if (opacityOf(style) < UNSEEN || !letters(style)) return null;
    const text = quoted.map((part) =>
      part
        .slice(1, -1)
        .replace(/\\([0-9a-f]{1,6}) ?|\\(.)/gi, (_, code, sign) =>
          code ? String.fromCodePoint(parseInt(code, 16)) : sign,
        ),
    );
    return { text: text.join(""), style };
  };

  return { UNSEEN, LOWEST, intersect, around, hasArea, toBox, rgba, start, enter, isUpright, drawnIn, letters, words, pseudo, cover, isVeiled, reach };
})()
