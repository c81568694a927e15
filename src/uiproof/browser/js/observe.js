// Runs in a world of our own before any script of a staged page, in every frame: numbers elements,
// and counts what happens to the document. The page can neither see nor stop it.
(() => {
  const MOST_KINDS = 100;
  if (window !== window.top) {
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
})();
