// Runs in a world of our own before any script of a staged page, in every frame: numbers elements,
// counts what happens to the document, and sends records of what cannot be seen. The page can
// neither see nor stop it.
//
// records  the address that records are sent to; every request is answered by us, this one too
({ records }) => {
  const MOST_KINDS = 100;

  // Records travel as requests, because what is kept in a document is gone when the page becomes
  // another one.
  const sent = new Set();
  const record = (text) => {
    const request = fetch(records, { method: "POST", body: text, keepalive: true, mode: "no-cors" })
      .catch(() => {})
      .then(() => sent.delete(request));
    sent.add(request);
  };
  // The window of a stage never changes its size, but taking a picture says that it did.
  addEventListener("resize", (event) => event.isTrusted && event.stopImmediatePropagation(), true);

  // A drag of the page's own begins with an event that nobody has prevented.
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

  // A form or a document without what elements named like properties hide of it.
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

  const numbers = new WeakMap();
  const elements = new Map();
  let last = 0;
  globalThis.uiproof = {
    watch,
    record,
    // Whether the page began to drag something itself since this was last asked, in any frame.
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
    // Wait until all records have arrived.
    flush: async () => {
      while (sent.size) await Promise.all([...sent]);
    },
    plain: (node) =>
      isElement(node) && nameOf.call(node) !== "form" ? node : plain(node),
    // Numbers go on where those of the page before this one ended.
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
    // What we change ourselves is not counted.
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
