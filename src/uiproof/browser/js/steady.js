// Runs before any script of the page, in every frame: time stands still until we move it, and
// chance is the same chance every time.
(() => {
  const START = 1735689600000; // 2025-01-01 00:00 UTC
  const MOST_CALLS = 20000; // timers that may fire while time is moved
  let now = 0;

  // --- time that can be read
  const RealDate = Date;
  const SteadyDate = new Proxy(RealDate, {
    construct: (target, values, caller) =>
      Reflect.construct(
        target,
        values.length ? values : [START + now],
        caller === SteadyDate ? target : caller,
      ),
    apply: () => new RealDate(START + now).toString(),
    get: (target, name) => (name === "now" ? () => START + now : Reflect.get(target, name)),
  });
  RealDate.prototype.constructor = SteadyDate;
  globalThis.Date = SteadyDate;
  Performance.prototype.now = () => now;
  Object.defineProperty(Performance.prototype, "timeOrigin", { get: () => START });
  Object.defineProperty(Event.prototype, "timeStamp", { get: () => now });
  Object.defineProperty(AnimationTimeline.prototype, "currentTime", { get: () => now });
  for (const name of ["getEntries", "getEntriesByType", "getEntriesByName"]) {
    Performance.prototype[name] = () => [];
  }
  for (const name of Object.keys(PerformanceTiming.prototype)) {
    if (name !== "toJSON") Object.defineProperty(PerformanceTiming.prototype, name, { get: () => START });
  }
  const formats = Intl.DateTimeFormat.prototype;
  const { get: formatOf } = Object.getOwnPropertyDescriptor(formats, "format");
  const formatToParts = formats.formatToParts;
  Object.defineProperty(formats, "format", {
    get() {
      const format = formatOf.call(this);
      return (date) => format(date === undefined ? START + now : date);
    },
  });
  formats.formatToParts = function (date) {
    return formatToParts.call(this, date === undefined ? START + now : date);
  };

  // --- time that calls back
  const RealPromise = Promise;
  const realFrame = window.requestAnimationFrame.bind(window);
  const realTimeout = window.setTimeout.bind(window);
  const FRAME = 16;
  const waiting = new Map();
  let last = 0;
  const add = (call, at, every, isFrame) => {
    waiting.set(++last, { call, at, every, isFrame });
    return last;
  };
  const callable = (work, values) =>
    typeof work === "function" ? () => work(...values) : () => (0, eval)(String(work));
  const wait = (delay) => now + Math.max(Number(delay) || 0, 1);
  window.setTimeout = (work, delay, ...values) => add(callable(work, values), wait(delay));
  window.setInterval = (work, delay, ...values) =>
    add(callable(work, values), wait(delay), Math.max(Number(delay) || 0, 1));
  window.requestAnimationFrame = (work) =>
    add(() => work(now), (Math.floor(now / FRAME) + 1) * FRAME, undefined, true);
  window.requestIdleCallback = (work) =>
    add(() => work({ didTimeout: false, timeRemaining: () => 50 }), now + 1);
  for (const name of ["Timeout", "Interval"]) window[`clear${name}`] = (id) => waiting.delete(id);
  window.cancelAnimationFrame = window.cancelIdleCallback = (id) => waiting.delete(id);

  // Between two calls the page's promises must have their turn.
  const { port1, port2 } = new MessageChannel();
  const others = () =>
    new RealPromise((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(0);
    });
  const report = reportError.bind(window);
  const advance = async (milliseconds) => {
    const end = now + milliseconds;
    for (let calls = 0; calls < MOST_CALLS; calls++) {
      let id = 0;
      let next = { at: end };
      for (const [candidate, timer] of waiting) {
        if (timer.at < next.at || (id === 0 && timer.at <= end)) [id, next] = [candidate, timer];
      }
      if (id === 0) break;
      now = Math.max(now, next.at);
      if (next.every) next.at += next.every;
      else waiting.delete(id);
      try {
        next.call();
      } catch (error) {
        report(error);
      }
      await others();
    }
    now = end;
  };
  // How long until the next call that happens only once and is not just a frame.
  const due = () => {
    let next = Infinity;
    for (const { at, every, isFrame } of waiting.values()) {
      if (!every && !isFrame) next = Math.min(next, at - now);
    }
    return next;
  };
  // Until the browser has drawn the page, and all who watch what is in sight have heard of it. They
  // are told some time after a frame, all in one go: so when we have been told, they have been, too.
  const { apply } = Reflect;
  const Watcher = IntersectionObserver;
  const { observe, disconnect } = Watcher.prototype;
  const told = (resolve) => {
    const root = document.documentElement;
    if (!root) return resolve();
    const watcher = new Watcher(() => {
      apply(disconnect, watcher, []);
      others().then(resolve);
    });
    apply(observe, watcher, [root]);
  };
  const drawn = () =>
    new RealPromise((resolve) => {
      realFrame(() => told(resolve));
      realTimeout(resolve, 4000); // some pages are never drawn
    });
  const ours = { advance, due, drawn };
  for (const [name, value] of Object.entries(ours)) {
    Object.defineProperty(globalThis, Symbol.for(`uiproof.${name}`), { value });
  }

  // --- chance
  let state = 0x2545f491;
  const random = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  Math.random = () => random();
  Crypto.prototype.getRandomValues = function getRandomValues(array) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = random() * 256;
    return array;
  };
  Crypto.prototype.randomUUID = () => {
    const hex = Array.from({ length: 32 }, () => ((random() * 16) | 0).toString(16)).join("");
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
  };

  // --- the window stays as it is
  for (const name of ["resizeTo", "resizeBy", "moveTo", "moveBy", "close"]) window[name] = () => {};
})();
