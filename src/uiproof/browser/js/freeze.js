// Waits for fonts and pictures, then stops all movement: finite animations jump to their end, endless
// ones stop at their most visible moment, scroll-driven ones where the element is in view. Returns
// how many pictures with an address of their own are decoded.
async () => {
  const MOST_PICTURES = 1000; // that are waited for
  const LONGEST_MS = 20000; // of an animation that is shown as it ends
  const LOOKED_AT_MS = 1000; // the moment at which a longer one is shown
  const LATER_MS = [5000, 10000]; // when it must still be as it is at that moment
  const MOMENTS = 8; // of an endless animation; the most visible one is shown
  const MOST_ANIMATIONS = 300; // whose moments are tried
  // An element named like a property shadows that property of its form or of the document. Elements
  // that shadow a property used by these scripts lose their name.
  const NEEDED = [
    ...["style", "localName", "childNodes", "getAttribute", "getBoundingClientRect", "shadowRoot"],
    ...["textContent", "nodeType", "querySelector", "querySelectorAll", "body", "documentElement"],
    ...["fonts", "createElement", "createRange", "getAnimations", "ownerDocument", "activeElement"],
  ];
  // Only these elements shadow anything; `id="body"` on a <div> does not, and style sheets may use it.
  const HIDING = "form,iframe,embed,object,img,input,button,fieldset,output,select,textarea";
  const names = NEEDED.flatMap((name) => [`[name="${name}"]`, `[id="${name}"]`]).join(",");
  const named = `:is(${HIDING}):is(${names})`;
  for (const element of Document.prototype.querySelectorAll.call(document, named)) {
    for (const attribute of ["name", "id"]) {
      if (NEEDED.includes(Element.prototype.getAttribute.call(element, attribute))) {
        Element.prototype.removeAttribute.call(element, attribute);
      }
    }
  }
  document.documentElement?.getBoundingClientRect(); // fonts are requested when text is laid out
  await document.fonts.ready;
  const loaded = [...document.querySelectorAll("img")].filter((image) => image.naturalWidth > 0);
  await Promise.all(loaded.slice(0, MOST_PICTURES).map((image) => image.decode().catch(() => {})));
  const stopMarquee = (marquee) => {
    // The browser moves it, and no script can set its position. A copy with a scroll amount of 0
    // never starts to move, and styles apply to it as before.
    const still = marquee.cloneNode(false);
    still.setAttribute("scrollamount", "0");
    still.append(...marquee.childNodes);
    marquee.replaceWith(still);
  };
  // The opacity of an animated element.
  const opacity = ({ target, pseudoElement }) => {
    const style = getComputedStyle(target, pseudoElement);
    return style.visibility === "visible" ? parseFloat(style.opacity) : 0;
  };
  // Leave an element in its current animated state. A paused animation would keep its own layer,
  // which is not drawn deterministically.
  const hold = (animation) => {
    try {
      animation.commitStyles();
    } catch {
      // of a pseudo-element, or of an element that is not displayed
    }
    animation.cancel();
  };
  // Whether an animated element is visible somewhere on the page.
  const isOnPage = ({ target, pseudoElement }) => {
    if (pseudoElement) return true; // its place cannot be measured
    const { right, bottom, width, height } = target.getBoundingClientRect();
    return width > 0 && height > 0 && right + scrollX > 0 && bottom + scrollY > 0;
  };
  const look = (animation, moment) => {
    animation.currentTime = moment;
    const { effect } = animation;
    if (!effect.target) return { shown: 1, there: true };
    return { shown: opacity(effect), there: isOnPage(effect) };
  };
  // Whether what an animation shows at a moment lasts for more than an instant: it is also shown at
  // another moment close by.
  const lasts = (animation, { shown, there }, others) =>
    others.some((moment) => {
      const other = look(animation, moment);
      return other.shown >= 0.5 * shown && (other.there || !there);
    });
  // The element's own style is not a moment of an endless animation: it is never visible.
  const stopAtBest = (animation, moments, near) => {
    animation.pause();
    let [best, most] = [moments[0], -1];
    for (const moment of moments) {
      const now = look(animation, moment);
      const isFlash = !lasts(animation, now, near(moment));
      const seen = isFlash ? 0 : now.shown;
      if (seen > most + 0.01) [best, most] = [moment, seen];
      if (most > 0.99) break;
    }
    animation.currentTime = best;
    hold(animation);
  };
  // The scroll position, as a share, at which the element is in the middle of the window.
  const whenInView = ({ timeline, effect }) => {
    const { source, subject } = timeline;
    if (subject || !source || !effect.target) return 0.5;
    const frame = source === document.scrollingElement ? 0 : source.getBoundingClientRect().top;
    const { top, height } = effect.target.getBoundingClientRect();
    const middle = top - frame + source.scrollTop + height / 2;
    const far = (middle - source.clientHeight / 2) / (source.scrollHeight - source.clientHeight);
    return Math.min(Math.max(far || 0, 0), 1);
  };
  const shares = [...Array(MOMENTS).keys()].map((number) => number / MOMENTS);
  // Pages with scripts must not be shown as if they had none, although scripts are stopped.
  const keepScripting = (page) => {
    const rewrite = (media) => {
      if (!/scripting/i.test(media.mediaText)) return;
      media.mediaText = media.mediaText
        .replace(/\(\s*scripting\s*(:\s*enabled\s*)?\)/gi, "(min-width: 0px)")
        .replace(/\(\s*scripting\s*:\s*[\w-]+\s*\)/gi, "(max-width: 0px)");
    };
    const visit = (rules) => {
      for (const rule of rules) {
        if (rule.media) rewrite(rule.media);
        if (rule.styleSheet) visitSheet(rule.styleSheet);
        else if (rule.cssRules) visit(rule.cssRules);
      }
    };
    const visitSheet = (sheet) => {
      rewrite(sheet.media);
      try {
        visit(sheet.cssRules);
      } catch {
        // a sheet of another origin
      }
    };
    for (const sheet of [...page.styleSheets, ...page.adoptedStyleSheets]) visitSheet(sheet);
  };
  let looked = 0;
  const freeze = (page) => {
    keepScripting(page);
    // Its content is for browsers without scripts; stopping the scripts must not show it.
    for (const element of page.querySelectorAll("noscript")) {
      element.replaceChildren(); // may hold style sheets
      element.style.setProperty("display", "none", "important");
    }
    // The caret blinks.
    for (let focus = page.activeElement; focus; focus = focus.shadowRoot?.activeElement) {
      if (focus === page.body && !focus.isContentEditable) continue; // nothing has the focus
      focus.style?.setProperty("caret-color", "transparent", "important");
    }
    for (const marquee of page.querySelectorAll("marquee")) stopMarquee(marquee);
    for (const svg of page.querySelectorAll("svg")) {
      if (svg.pauseAnimations) {
        svg.pauseAnimations();
        svg.setCurrentTime(LOOKED_AT_MS / 1000);
      }
    }
    for (const progress of page.querySelectorAll("progress:indeterminate")) progress.value = 0;
    for (const media of page.querySelectorAll("video, audio")) {
      media.pause();
      // The browser's own buttons fade in and out on a clock that cannot be stopped.
      media.controls = false;
      if (media.localName === "audio") {
        media.style.setProperty("display", "inline-block", "important");
        media.style.setProperty("visibility", "hidden", "important");
      }
    }
    for (const animation of page.getAnimations()) {
      if (!animation.effect) continue;
      if (animation.playState === "paused") {
        hold(animation);
        continue;
      }
      const timing = animation.effect.getComputedTiming();
      if (animation.timeline && "source" in animation.timeline) {
        // It follows the scrolling, and there is none in a window as high as the page.
        animation.pause();
        animation.currentTime = CSS.percent(100 * whenInView(animation));
        hold(animation);
        continue;
      }
      const ends = Number.isFinite(timing.endTime) && animation.playbackRate !== 0;
      if (ends && timing.endTime > LONGEST_MS) {
        animation.pause(); // its end is too far away
        const isFlash = !lasts(animation, look(animation, LOOKED_AT_MS), LATER_MS);
        animation.currentTime = isFlash ? LATER_MS.at(-1) : LOOKED_AT_MS;
        // Transitions are switched off below, which would bring them to their end.
        const { transitionProperty: name, effect } = animation;
        if (name && !effect.pseudoElement) {
          const value = getComputedStyle(effect.target).getPropertyValue(name);
          effect.target.style?.setProperty(name, value, "important");
        }
      } else if (ends) {
        animation.finish();
      } else if (animation.playbackRate !== 0 && timing.duration > 0 && looked++ < MOST_ANIMATIONS) {
        const { delay, duration } = timing;
        const period = Math.min(duration, LONGEST_MS);
        const near = (moment) =>
          [1, 2 * MOMENTS - 1].map((part) => delay + ((moment - delay + (part * period) / (2 * MOMENTS)) % period));
        stopAtBest(animation, shares.map((share) => delay + share * period), near);
      } else {
        hold(animation);
      }
    }
    // A screenshot of the whole page resizes the window for a moment, which may start transitions.
    const still = new page.defaultView.CSSStyleSheet();
    still.replaceSync("*, *::before, *::after { transition: none !important }");
    page.adoptedStyleSheets = [...page.adoptedStyleSheets, still];
    for (const frame of page.querySelectorAll("iframe, frame, object")) {
      try {
        if (frame.contentDocument) freeze(frame.contentDocument);
      } catch {
        // a frame of another origin
      }
    }
  };
  freeze(document);
  window.scrollTo(0, 0);
  return new Set(loaded.map((image) => image.currentSrc).filter((url) => !url.startsWith("data:"))).size;
}
