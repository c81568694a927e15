// Runs in our isolated world before any script of the page, in every frame: controls the clock that
// steady.js installs in the page. The page can neither see nor reach it.
(() => {
  const MOST_FRAMES = 50; // of one page, at each level
  let clock = null; // shared with steady.js, and with nothing else
  const MOST_ERRORS = 20; // of one frame
  const QUIET_TURNS = 5; // of the message queue without a change, after which a page is at rest
  const MOST_TURNS = 500;
  let last = 0;
  const errors = [];
  const waiting = new Map();

  // steady.js sends `hello` once, before the page has a script that could receive or send one.
  addEventListener(
    "hello",
    (hello) => {
      hello.stopImmediatePropagation();
      clock = hello.source;
      clock.addEventListener("moved", ({ data: due, lastEventId }) => {
        waiting.get(lastEventId)?.(due);
        waiting.delete(lastEventId);
      });
      clock.addEventListener("record", ({ data }) => {
        if (globalThis.uiproof) return uiproof.record(data); // the page is acted on
        const [kind, text] = JSON.parse(data);
        if (errors.length < MOST_ERRORS) errors.push([text, kind === "error"]);
      });
    },
    { capture: true, once: true },
  );

  // Advance the clock of this frame; resolve to the milliseconds until the next one-time timer.
  const move = (milliseconds) =>
    new Promise((resolve) => {
      if (clock === null) return resolve(Infinity); // a frame without scripts
      const lastEventId = `${++last}`;
      waiting.set(lastEventId, resolve);
      clock.dispatchEvent(new MessageEvent("move", { data: milliseconds, lastEventId }));
    });

  const clocks = (frame, found = []) => {
    try {
      if (frame.uiproofClock) found.push(frame.uiproofClock);
      for (let i = 0; i < Math.min(frame.length, MOST_FRAMES); i++) clocks(frame[i], found);
    } catch {
      // a frame of another origin
    }
    return found;
  };

  const turn = () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = resolve;
      port2.postMessage(0);
    });

  // Wait until the browser has drawn the page and all IntersectionObservers have fired. They fire
  // together some time after a frame, so when ours has fired, the page's have, too.
  const drawn = () =>
    new Promise((resolve) => {
      const observe = () => {
        const root = document.documentElement;
        if (!root) return resolve();
        const observer = new IntersectionObserver(() => {
          observer.disconnect();
          turn().then(resolve);
        });
        observer.observe(root);
      };
      requestAnimationFrame(observe);
      setTimeout(resolve, 4000); // some pages are never drawn
    });

  // Advance the clock of the page and its frames; resolve to the milliseconds until the next one-time
  // timer, or null.
  const advance = async (milliseconds) => {
    const due = Math.min(...(await Promise.all(clocks(window).map((one) => one.move(milliseconds)))));
    return Number.isFinite(due) ? due : null;
  };
  // Wait until all pending work that needs no time is done and drawn; resolve to whether drawing
  // changed the page.
  const rest = async () => {
    let changed = false;
    const observer = new MutationObserver(() => (changed = true));
    observer.observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
    for (let quiet = 0, all = 0; quiet < QUIET_TURNS && all < MOST_TURNS; all++) {
      await turn();
      quiet = changed ? 0 : quiet + 1;
      changed = false;
    }
    await drawn();
    observer.disconnect();
    return changed;
  };
  const allErrors = () => clocks(window).flatMap((one) => one.own());
  globalThis.uiproofClock = { move, advance, rest, own: () => errors, errors: allErrors };
})();
