// Waits for fonts and pictures, then ends all movement: what is finite jumps to its end, what is
// endless goes back to its start.
async () => {
  const MOST_PICTURES = 1000; // that are waited for
  const LONGEST_MS = 20000; // of an animation that is shown as it ends
  const LOOKED_AT_MS = 1000; // when a longer one is shown
  // An element named like a property hides that property of its form or of the document; those
  // that we use ourselves are needed more than such names.
  const NEEDED = [
    ...["style", "localName", "childNodes", "getAttribute", "getBoundingClientRect", "shadowRoot"],
    ...["textContent", "nodeType", "querySelector", "querySelectorAll", "body", "documentElement"],
    ...["fonts", "createElement", "createRange", "getAnimations", "ownerDocument", "activeElement"],
  ];
  // Only these elements hide anything; `id="body"` on a <div> does not, and style sheets may use it.
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
  document.documentElement?.getBoundingClientRect(); // fonts are asked for when text is laid out
  await document.fonts.ready;
  // A picture that is unpacked while the page is drawn comes out a little different at its edges.
  const loaded = [...document.querySelectorAll("img")].filter((image) => image.naturalWidth > 0);
  await Promise.all(loaded.slice(0, MOST_PICTURES).map((image) => image.decode().catch(() => {})));
  const stopMarquee = (marquee) => {
    // Its movement belongs to the browser and cannot be set to a moment. A fresh one whose scroll
    // amount is nothing never starts to move, and styles apply to it as before.
    const still = marquee.cloneNode(false);
    still.setAttribute("scrollamount", "0");
    still.append(...marquee.childNodes);
    marquee.replaceWith(still);
  };
  const freeze = (page) => {
    // Its content is for browsers without scripts; stopping the scripts must not bring it up.
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
        svg.setCurrentTime(0);
      }
    }
    for (const progress of page.querySelectorAll("progress:indeterminate")) progress.value = 0;
    for (const media of page.querySelectorAll("video, audio")) {
      media.pause();
      // The browser's own buttons fade in and out on a clock that nobody can stop.
      media.controls = false;
      if (media.localName === "audio") {
        media.style.setProperty("display", "inline-block", "important");
        media.style.setProperty("visibility", "hidden", "important");
      }
    }
    for (const animation of page.getAnimations()) {
      const timing = animation.effect && animation.effect.getComputedTiming();
      const ends = timing && Number.isFinite(timing.endTime) && animation.playbackRate !== 0;
      if (ends && timing.endTime > LONGEST_MS) {
        animation.pause(); // nobody waits for its end
        animation.currentTime = LOOKED_AT_MS;
        // Transitions are switched off below, which would bring them to their end.
        const { transitionProperty: name, effect } = animation;
        if (name && !effect.pseudoElement) {
          const value = getComputedStyle(effect.target).getPropertyValue(name);
          effect.target.style?.setProperty(name, value, "important");
        }
      } else if (ends) {
        animation.finish();
      } else {
        animation.cancel();
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
}
