// Runs in our isolated world before any script of a staged page, in every frame: numbers elements,
// counts mutations, and sends records of invisible events. The page can neither see nor stop it.
//
// records  the URL that records are sent to, which is intercepted
({ records }) => {
  const MOST_KINDS = 100;

  // Records are sent as requests, because anything stored in a document is lost when the page
  // navigates.
  const sent = new Set();
  const record = (text) => {
    const request = fetch(records, { method: "POST", body: text, keepalive: true, mode: "no-cors" })
      .catch(() => {})
      .then(() => sent.delete(request));
    sent.add(request);
  };
  // The window of a stage never changes its size, but a screenshot reports that it did.
  addEventListener("resize", (event) => event.isTrusted && event.stopImmediatePropagation(), true);

  // A drag operation begins with an event whose default was not prevented.
  let dragged = null;
  addEventListener("dragstart", (event) => (dragged = event), true);
  const drags = () => {
    const began = dragged !== null && !dragged.defaultPrevented;
    dragged = null;
    return began;
  };

  if (window !== window.top) {
    globalThis.uiproof = { record, drags };
    try {
      window.top.uiproof?.watch(document);
    } catch {
      // a frame of another origin
    }
    return;
  }
  if (globalThis.uiproof) return;

  const counts = new Map();
  const count = (kind, many) => {
    if (many && (counts.has(kind) || counts.size < MOST_KINDS)) {
      counts.set(kind, (counts.get(kind) || 0) + many);
    }
  };
  const elementsIn = (nodes) => {
    let many = 0;
    for (const node of nodes) if (node.nodeType === Node.ELEMENT_NODE) many++;
    return many;
  };
  const hasText = (nodes) => {
    for (const node of nodes) if (node.nodeType === Node.TEXT_NODE && node.data.trim()) return true;
    return false;
  };
  let total = 0;
  const note = (records) => {
    for (const record of records) {
      total++;
      if (record.type === "attributes") count(`attribute:${record.attributeName}`, 1);
      else if (record.type === "characterData") count("text", 1);
      else {
        count("added", elementsIn(record.addedNodes));
        count("removed", elementsIn(record.removedNodes));
        if (hasText(record.addedNodes) || hasText(record.removedNodes)) count("text", 1);
      }
    }
  };
  const observer = new MutationObserver(note);
  const watched = new WeakSet();
  const watch = (root) => {
    if (watched.has(root)) return;
    watched.add(root);
    observer.observe(root, {
      ...{ subtree: true, childList: true, attributes: true, characterData: true },
    });
  };
  watch(document);

  // A form or a document whose properties are not shadowed by elements with the same names.
  const plain = (node) => {
    const kind = Object.getPrototypeOf(node);
    const get = (_, name) => {
      const value = Reflect.get(kind, name, node);
      return typeof value === "function" ? value.bind(node) : value;
    };
    const set = (_, name, value) => Reflect.set(kind, name, value, node);
    return new Proxy({}, { get, set });
  };
  const kindOf = Object.getOwnPropertyDescriptor(Node.prototype, "nodeType").get;
  const isElement = (node) => kindOf.call(node) === Node.ELEMENT_NODE;
  const nameOf = Object.getOwnPropertyDescriptor(Element.prototype, "localName").get;

  // The caret blinks. It is hidden while a picture is taken, without transitions: the page would
  // notice them.
  const posing = new Map(); // document -> our style sheets
  const documents = (frame = window, found = []) => {
    try {
      found.push(frame.document);
      for (let i = 0; i < Math.min(frame.length, 50); i++) documents(frame[i], found);
    } catch {
      // a frame of another origin
    }
    return found;
  };
  const flush = (document) => {
    const root = plain(document).documentElement;
    if (root) void getComputedStyle(root).caretColor;
  };
  const hideCaret = (document) => {
    const page = plain(document);
    const sheets = ["transition: none", "caret-color: transparent"].map((rule) => {
      const sheet = new page.defaultView.CSSStyleSheet();
      sheet.replaceSync(`*, *::before, *::after { ${rule} !important }`);
      return sheet;
    });
    posing.set(document, sheets);
    page.adoptedStyleSheets = [...page.adoptedStyleSheets, ...sheets];
  };
  const showCaret = (document) => {
    const page = plain(document);
    for (const ours of (posing.get(document) ?? []).reverse()) {
      page.adoptedStyleSheets = [...page.adoptedStyleSheets].filter((sheet) => sheet !== ours);
      flush(document);
    }
    posing.delete(document);
  };

  const numbers = new WeakMap();
  const elements = new Map();
  let last = 0;
  globalThis.uiproof = {
    watch,
    record,
    // Whether a drag operation began since the last call, in any frame.
    drags: (frame = window) => {
      let found = false;
      try {
        found = frame === window ? drags() : frame.uiproof.drags();
        for (let i = 0; i < Math.min(frame.length, 50); i++) found = globalThis.uiproof.drags(frame[i]) || found;
      } catch {
        // a frame of another origin
      }
      return found;
    },
    // Hide or show the caret around a picture; the page's scripts cannot notice it.
    posing: (begin) => {
      for (const document of documents()) begin ? hideCaret(document) : showCaret(document);
    },
    // Wait until all records have arrived.
    flush: async () => {
      while (sent.size) await Promise.all([...sent]);
    },
    plain: (node) =>
      isElement(node) && nameOf.call(node) !== "form" ? node : plain(node),
    // Numbers continue after those of the previous document.
    startAfter: (number) => {
      last = Math.max(last, number);
    },
    refOf: (element) => {
      if (!numbers.has(element)) {
        numbers.set(element, ++last);
        elements.set(last, new WeakRef(element));
      }
      return numbers.get(element);
    },
    element: (ref) => elements.get(ref)?.deref(),
    last: () => last,
    total: () => {
      note(observer.takeRecords());
      return total;
    },
    take: () => {
      note(observer.takeRecords());
      const taken = Object.fromEntries(counts);
      counts.clear();
      return taken;
    },
    // Our own changes are not counted.
    quietly: (work) => {
      note(observer.takeRecords());
      try {
        return work();
      } finally {
        observer.takeRecords();
      }
    },
  };
}
