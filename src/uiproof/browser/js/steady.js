// Runs before any script of the page, in every frame: stops the clock until it is advanced, makes
// random numbers deterministic, and hides differences between machines. Replaced functions look native,
// so a page cannot tell this browser from one on a desktop.
//
// live  whether the page is acted on: then the dialogs and windows that it opens are recorded
({ live }) => {
  const START = 1742293477519; // 2025-03-18 10:24:37 UTC, a moment like any other
  const MOST_CALLS = 20000; // timers that may fire in one move
  const MOST_BLOB_BYTES = 16 * 1024 * 1024; // of a blob that gets a deterministic address
  let now = 0;

  // --- replacing functions of the browser
  // Native functions are saved before the page can replace them.
  const { apply } = Reflect;
  const { defineProperty, getOwnPropertyDescriptor } = Object;
  const originals = new WeakMap();
  const note = WeakMap.prototype.set.bind(originals);
  const originalOf = WeakMap.prototype.get.bind(originals);
  const replaced = (real, traps) => {
    const proxy = new Proxy(real, typeof traps === "function" ? { apply: (_, self, values) => traps(self, values) } : traps);
    note(proxy, real);
    return proxy;
  };
  const method = (holder, name, call) => {
    const found = holder && getOwnPropertyDescriptor(holder, name);
    if (typeof found?.value !== "function") return;
    defineProperty(holder, name, { ...found, value: replaced(found.value, (self, values) => call(self, values, found.value)) });
  };
  const getter = (holder, name, get) => {
    const found = holder && getOwnPropertyDescriptor(holder, name);
    if (!found?.get) return;
    defineProperty(holder, name, { ...found, get: replaced(found.get, (self) => get(self, found.get)) });
  };
  const prototypeOf = (name) => globalThis[name]?.prototype;
  method(Function.prototype, "toString", (self, values, real) => apply(real, originalOf(self) ?? self, values));

  // --- clocks
  // Every reading takes a moment, as on a real machine, so a loop that waits for time to pass ends,
  // and always after the same number of readings.
  const LOOK = 10; // readings per millisecond
  let looks = 0;
  const { floor, max } = Math;
  const read = () => {
    looks = max(looks + 1, now * LOOK);
    return looks / LOOK;
  };
  const date = () => START + floor(read());
  const RealDate = Date;
  const dateNow = replaced(RealDate.now, date);
  const SteadyDate = replaced(RealDate, {
    construct: (target, values, caller) =>
      Reflect.construct(
        target,
        values.length ? values : [date()],
        caller === SteadyDate ? target : caller,
      ),
    apply: () => new RealDate(date()).toString(),
    get: (target, name) => (name === "now" ? dateNow : Reflect.get(target, name)),
  });
  defineProperty(RealDate.prototype, "constructor", {
    ...{ value: SteadyDate, writable: true, enumerable: false, configurable: true },
  });
  globalThis.Date = SteadyDate;
  if (globalThis.Temporal) {
    const { Now, Instant } = Temporal;
    const instant = () => Instant.fromEpochMilliseconds(date());
    const zoned = (zone = "UTC") => instant().toZonedDateTimeISO(zone);
    method(Now, "instant", instant);
    method(Now, "zonedDateTimeISO", (_, [zone]) => zoned(zone));
    method(Now, "plainDateTimeISO", (_, [zone]) => zoned(zone).toPlainDateTime());
    method(Now, "plainDateISO", (_, [zone]) => zoned(zone).toPlainDate());
    method(Now, "plainTimeISO", (_, [zone]) => zoned(zone).toPlainTime());
  }
  const formats = Intl.DateTimeFormat.prototype;
  getter(formats, "format", (self, real) => {
    const format = apply(real, self, []);
    return (moment) => format(moment === undefined ? date() : moment);
  });
  method(formats, "formatToParts", (self, [moment], real) => apply(real, self, [moment === undefined ? date() : moment]));

  const performances = Performance.prototype;
  method(performances, "now", read);
  getter(performances, "timeOrigin", () => START);
  getter(performances, "memory", () => ({ jsHeapSizeLimit: 2 ** 32, totalJSHeapSize: 1e7, usedJSHeapSize: 1e7 }));
  getter(console, "memory", () => performance.memory);
  method(performances, "toJSON", () => ({ timeOrigin: START }));
  const TIMES = new Set(Object.keys(PerformanceTiming.prototype));
  for (const name of TIMES) getter(PerformanceTiming.prototype, name, () => START);
  method(PerformanceTiming.prototype, "toJSON", () => Object.fromEntries([...TIMES].filter((name) => name !== "toJSON").map((name) => [name, START])));
  // The browser's own measurements are hidden; the page's own marks have the page's time.
  const OWN_ENTRIES = ["mark", "measure"];
  const own = (entries) => entries.filter((entry) => OWN_ENTRIES.includes(entry.entryType));
  for (const name of ["getEntries", "getEntriesByType", "getEntriesByName"]) {
    method(performances, name, (self, values, real) => own(apply(real, self, values)));
  }
  method(performances, "mark", (self, [name, options], real) =>
    apply(real, self, [name, { ...options, startTime: options?.startTime ?? read() }]),
  );
  const moment = (mark) => (TIMES.has(mark) ? 0 : mark);
  method(performances, "measure", (self, [name, from, to], real) => {
    const asked = typeof from === "object" && from !== null ? { ...from } : { start: from, end: to };
    const { detail, duration, start, end } = asked;
    const times = { start: moment(start), end: moment(end), duration };
    if (duration === undefined) times.start ??= 0;
    if (duration === undefined || times.start === undefined) times.end ??= read();
    for (const key of Object.keys(times)) if (times[key] === undefined) delete times[key];
    return apply(real, self, [name, { ...times, detail }]);
  });
  method(prototypeOf("PerformanceObserver"), "observe", (self, [options], real) => {
    const asked = options?.entryTypes ?? [options?.type];
    const kept = [...asked].filter((type) => OWN_ENTRIES.includes(type));
    if (kept.length) apply(real, self, [options.entryTypes ? { ...options, entryTypes: kept } : options]);
  });
  getter(Event.prototype, "timeStamp", () => now);
  getter(AnimationTimeline.prototype, "currentTime", () => now);
  getter(prototypeOf("IntersectionObserverEntry"), "time", () => now);
  getter(prototypeOf("Notification"), "timestamp", () => START + now);
  getter(prototypeOf("BaseAudioContext"), "currentTime", (self, real) =>
    self instanceof OfflineAudioContext ? apply(real, self, []) : now / 1000,
  );
  method(SVGSVGElement.prototype, "getCurrentTime", () => now / 1000);
  getter(Document.prototype, "lastModified", () => "03/18/2025 10:24:37");
  const RealFile = File;
  const dated = new WeakSet(); // files whose date the page has given
  globalThis.File = replaced(RealFile, {
    construct: (target, values, caller) => {
      const [, , options] = values;
      const file = Reflect.construct(target, values, caller === globalThis.File ? target : caller);
      if (options?.lastModified !== undefined) dated.add(file);
      return file;
    },
  });
  defineProperty(RealFile.prototype, "constructor", {
    ...{ value: globalThis.File, writable: true, enumerable: false, configurable: true },
  });
  getter(RealFile.prototype, "lastModified", (self, real) => {
    const date = apply(real, self, []);
    return dated.has(self) ? date : START;
  });
  getter(RealFile.prototype, "lastModifiedDate", (self) => new RealDate(self.lastModified));

  // --- timers
  const RealPromise = Promise;
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
  method(window, "setTimeout", (_, [work, delay, ...values]) => add(callable(work, values), wait(delay)));
  method(window, "setInterval", (_, [work, delay, ...values]) =>
    add(callable(work, values), wait(delay), Math.max(Number(delay) || 0, 1)),
  );
  method(window, "requestAnimationFrame", (_, [work]) =>
    add(() => work(now), (Math.floor(now / FRAME) + 1) * FRAME, undefined, true),
  );
  method(window, "requestIdleCallback", (_, [work]) =>
    add(() => work({ didTimeout: false, timeRemaining: () => 50 }), now + 1),
  );
  for (const name of ["clearTimeout", "clearInterval", "cancelAnimationFrame", "cancelIdleCallback"]) {
    method(window, name, (_, [id]) => void waiting.delete(id));
  }
  const { AbortController, DOMException } = globalThis;
  method(AbortSignal, "timeout", (_, [delay]) => {
    const controller = new AbortController();
    add(() => controller.abort(new DOMException("signal timed out", "TimeoutError")), wait(delay));
    return controller.signal;
  });
  method(prototypeOf("Scheduler"), "postTask", (self, [work, options], real) => {
    const { delay, ...rest } = options ?? {};
    const post = () => apply(real, self, [work, rest]);
    if (!(delay > 0)) return post();
    return new RealPromise((resolve, reject) => {
      add(() => post().then(resolve, reject), wait(delay));
    });
  });
  method(Atomics, "waitAsync", (self, [array, index, value, timeout], real) => {
    const found = apply(real, self, [array, index, value]);
    if (!found.async || timeout === undefined || timeout === Infinity) return found;
    const late = new RealPromise((resolve) => add(() => resolve("timed-out"), wait(timeout)));
    return { async: true, value: RealPromise.race([found.value, late]) };
  });

  // Promises of the page run between two timers.
  const { port1, port2 } = new MessageChannel();
  const knock = MessagePort.prototype.postMessage.bind(port2);
  let resume = null;
  port1.onmessage = () => resume?.();
  const others = () =>
    new RealPromise((resolve) => {
      resume = resolve;
      knock(0);
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
  // The time until the next one-time timer that is not an animation frame.
  const due = () => {
    let next = Infinity;
    for (const { at, every, isFrame } of waiting.values()) {
      if (!every && !isFrame) next = Math.min(next, at - now);
    }
    return next;
  };
  // clock.js, which advances the clock, runs in an isolated world. Their message port is created here,
  // before the page has a script, and cannot be reached from anywhere else.
  const clock = new MessageChannel().port1;
  const RealMessage = MessageEvent;
  const { get: dataOf } = getOwnPropertyDescriptor(RealMessage.prototype, "data");
  const { get: idOf } = getOwnPropertyDescriptor(RealMessage.prototype, "lastEventId");
  const say = EventTarget.prototype.dispatchEvent.bind(clock);
  clock.addEventListener("move", async (event) => {
    const lastEventId = apply(idOf, event, []);
    await advance(apply(dataOf, event, []));
    say(new RealMessage("moved", { data: due(), lastEventId }));
  });
  window.dispatchEvent(new RealMessage("hello", { source: clock }));

  // --- random numbers
  // The seed is the host, which is a digest of the page or of its reference.
  const { ancestorOrigins, host } = location;
  let state = 0x811c9dc5;
  for (const letter of ancestorOrigins[ancestorOrigins.length - 1] ?? `https://${host}`) {
    state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193); // FNV-1a
  }
  const random = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const uuid = () => {
    const hex = Array.from({ length: 32 }, () => ((random() * 16) | 0).toString(16)).join("");
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
  };
  const fill = (bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = random() * 256;
    return bytes;
  };
  method(Math, "random", random);
  method(Crypto.prototype, "getRandomValues", (_, [array]) => {
    fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return array;
  });
  method(Crypto.prototype, "randomUUID", uuid);
  // Symmetric keys can be derived from our random numbers; others cannot.
  const importKey = prototypeOf("SubtleCrypto")?.importKey;
  const HASH_BITS = { "SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024 };
  method(prototypeOf("SubtleCrypto"), "generateKey", (self, [algorithm, ...rest], real) => {
    const name = `${algorithm?.name ?? algorithm}`.toUpperCase();
    const hash = algorithm?.hash?.name ?? algorithm?.hash;
    const bits = algorithm?.length ?? (name === "HMAC" ? HASH_BITS[`${hash}`.toUpperCase()] : undefined);
    if (!(name === "HMAC" || name.startsWith("AES-")) || !(bits > 0 && bits <= 8192)) {
      return apply(real, self, [algorithm, ...rest]);
    }
    return apply(importKey, self, ["raw", fill(new Uint8Array(bits / 8)), algorithm, ...rest]);
  });
  const names = new WeakMap();
  const named = (self) => {
    if (!names.has(self)) names.set(self, uuid());
    return names.get(self);
  };
  for (const kind of ["MediaStream", "MediaStreamTrack", "PaymentRequest"]) getter(prototypeOf(kind), "id", named);
  // Blob URLs are random. A data URL with the content is not, and works the same.
  const RealRequest = XMLHttpRequest;
  const { open, send, overrideMimeType } = RealRequest.prototype;
  const { get: responseOf } = getOwnPropertyDescriptor(RealRequest.prototype, "responseText");
  const revoke = URL.revokeObjectURL.bind(URL);
  const encode = btoa.bind(window);
  const contentOf = (address) => {
    const request = new RealRequest();
    apply(open, request, ["GET", address, false]);
    apply(overrideMimeType, request, ["text/plain; charset=x-user-defined"]);
    apply(send, request, []);
    return apply(responseOf, request, []);
  };
  method(URL, "createObjectURL", (self, [content], real) => {
    const address = apply(real, self, [content]);
    if (!(content instanceof Blob) || content.size > MOST_BLOB_BYTES) return address;
    try {
      const text = contentOf(address);
      let bytes = "";
      for (let i = 0; i < text.length; i++) bytes += String.fromCharCode(text.charCodeAt(i) & 255);
      const full = `data:${content.type || "application/octet-stream"};base64,${encode(bytes)}`;
      revoke(address);
      return full;
    } catch {
      return address;
    }
  });
  // The time at which memory is freed is random, too.
  method(prototypeOf("FinalizationRegistry"), "register", () => undefined);
  const referred = new Set();
  const RealReference = WeakRef;
  globalThis.WeakRef = replaced(RealReference, {
    construct: (target, values, caller) => {
      referred.add(values[0]);
      return Reflect.construct(target, values, caller === globalThis.WeakRef ? target : caller);
    },
  });

  // --- differences between machines, and features of a desktop browser
  const machine = {
    hardwareConcurrency: 4,
    deviceMemory: 8,
    onLine: true,
    webdriver: false,
    languages: Object.freeze(["en-US", "en"]),
    pdfViewerEnabled: true,
  };
  for (const [name, value] of Object.entries(machine)) getter(Navigator.prototype, name, () => value);
  const network = { rtt: 50, downlink: 10, effectiveType: "4g", saveData: false };
  for (const [name, value] of Object.entries(network)) getter(prototypeOf("NetworkInformation"), name, () => value);
  method(prototypeOf("StorageManager"), "estimate", () => RealPromise.resolve({ quota: 2 ** 33, usage: 0 }));
  method(prototypeOf("MediaDevices"), "enumerateDevices", () => RealPromise.resolve([]));
  getter(prototypeOf("Screen"), "availHeight", (self) => self.height - 40); // a taskbar
  getter(globalThis.Notification, "permission", () => "default");
  const battery = { charging: true, chargingTime: 0, dischargingTime: Infinity, level: 1 }; // none
  for (const [name, value] of Object.entries(battery)) getter(prototypeOf("BatteryManager"), name, () => value);
  method(Navigator.prototype, "getBattery", () => RealPromise.resolve(Object.setPrototypeOf(new EventTarget(), BatteryManager.prototype)));
  method(prototypeOf("Worklet"), "addModule", () => RealPromise.reject(new DOMException("Unable to load a worklet's module.", "AbortError")));
  delete Navigator.prototype.gpu;
  for (const name of Object.getOwnPropertyNames(window)) {
    if (/^(webkit)?RTC/.test(name)) delete window[name];
  }
  getter(window, "outerWidth", () => window.innerWidth);
  getter(window, "outerHeight", () => window.innerHeight + window.screenY); // the browser's own bars
  // The graphics card: 37445 is its vendor, 37446 its name.
  const CARD = { 37445: "Google Inc. (Intel)", 37446: "ANGLE (Intel, Mesa Intel(R) UHD Graphics, OpenGL 4.6)" };
  for (const kind of ["WebGLRenderingContext", "WebGL2RenderingContext"]) {
    method(prototypeOf(kind), "getParameter", (self, [name], real) => CARD[name] ?? apply(real, self, [name]));
  }
  const VOICE = { voiceURI: "Google US English", name: "Google US English", lang: "en-US", localService: false, default: true };
  method(prototypeOf("SpeechSynthesis"), "getVoices", () => [described("SpeechSynthesisVoice", VOICE)]);
  const plugins = ["PDF Viewer", "Chrome PDF Viewer", "Chromium PDF Viewer", "Microsoft Edge PDF Viewer", "WebKit built-in PDF"];
  const listed = (kind, items) => {
    const list = Object.create(prototypeOf(kind));
    items.forEach((item, index) => defineProperty(list, index, { value: item, enumerable: true }));
    defineProperty(list, "length", { value: items.length });
    return list;
  };
  const described = (kind, facts) => {
    const one = Object.create(prototypeOf(kind));
    for (const [name, value] of Object.entries(facts)) defineProperty(one, name, { value });
    return one;
  };
  if (navigator.plugins?.length === 0) {
    const types = ["application/pdf", "text/pdf"].map((type) =>
      described("MimeType", { type, suffixes: "pdf", description: "Portable Document Format" }),
    );
    const list = listed("PluginArray", plugins.map((name) =>
      described("Plugin", { name, filename: "internal-pdf-viewer", description: "Portable Document Format", length: 2 }),
    ));
    const kinds = listed("MimeTypeArray", types);
    getter(Navigator.prototype, "plugins", () => list);
    getter(Navigator.prototype, "mimeTypes", () => kinds);
  }
  if (!("chrome" in window)) {
    const times = () => ({ startLoadTime: START / 1000, finishLoadTime: START / 1000 });
    const chrome = { app: { isInstalled: false }, csi: replaced(() => {}, () => ({ startE: START, onloadT: START })), loadTimes: replaced(() => {}, times) };
    defineProperty(window, "chrome", { value: chrome, writable: true, enumerable: true, configurable: false });
  }

  // --- the window stays as it is
  for (const name of ["resizeTo", "resizeBy", "moveTo", "moveBy", "close"]) method(window, name, () => undefined);

  // --- errors are recorded, and on a page that is acted on also dialogs and windows
  const MOST_RECORDS = 60; // of one document
  const MOST_TEXT = 300; // characters
  const { stringify } = JSON;
  const cut = Function.prototype.call.bind(String.prototype.slice);
  let left = MOST_RECORDS;
  const record = (kind, text) => {
    if (left-- > 0) say(new RealMessage("record", { data: stringify([kind, cut(`${text}`, 0, MOST_TEXT)]) }));
  };
  const RealError = Error;
  window.addEventListener("error", ({ message }) => message && record("error", message));
  window.addEventListener("unhandledrejection", ({ reason }) => {
    record("error", reason instanceof RealError ? `${reason.name}: ${reason.message}` : `${reason}`);
  });
  // Objects are not inspected, because that might run code of the page.
  const printed = (value) => {
    if (typeof value === "string") return cut(value, 0, MOST_TEXT);
    return value === null || typeof value !== "object" ? `${typeof value === "symbol" ? "" : value}` : "…";
  };
  const { replace } = String.prototype;
  const HOLDER = /%[sdifoOc]/g;
  method(console, "error", (self, values, real) => {
    try {
      const [first = "", ...others] = values;
      let used = 0;
      const text = apply(replace, printed(first), [HOLDER, () => printed(others[used++] ?? "")]);
      record("console", [text, ...others.slice(used).map(printed)].join(" "));
    } catch {
      // the page has replaced what this needs
    }
    return apply(real, self, values);
  });
  if (!live) return;

  // --- dialogs and windows are recorded and refused. The sandbox of the document refuses the real
  // ones, so a page that finds a way around these only loses the record.
  method(window, "alert", (_, [message = ""]) => record("alert", message));
  method(window, "confirm", (_, [message = ""]) => {
    record("confirm", message);
    return false;
  });
  method(window, "prompt", (_, [message = ""]) => {
    record("prompt", message);
    return null;
  });
  method(window, "print", () => record("print", ""));

  // Anything that a page does with the window that it seems to have opened must not fail.
  const nothing = new Proxy(function () {}, {
    get: (_, name) => {
      if (name === "closed") return true;
      if (name === Symbol.toPrimitive) return () => "";
      return name === "then" ? undefined : nothing;
    },
    set: () => true,
    apply: () => nothing,
  });
  const SAME_WINDOW = ["_self", "_parent", "_top"];
  method(window, "open", (_, [address = "", target = "_blank", ...features], real) => {
    const name = `${target}`;
    if (SAME_WINDOW.includes(name.toLowerCase()) || (name && window[name]?.window)) {
      return apply(real, window, [address, name, ...features]);
    }
    let full = `${address}` || "about:blank";
    try {
      full = new URL(full, document.baseURI).href;
    } catch {
      // recorded as it was written
    }
    record("window", full);
    return nothing;
  });
}
