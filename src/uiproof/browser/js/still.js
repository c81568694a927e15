// Stops all movement of a staged page without stopping its scripts: finite animations jump to their
// end (with events), endless ones stop at their most visible moment. Returns how many moved.
// frames  the number of real frames to wait for first, so that the browser's own work gets done
async ({ frames }) => {
  const LONGEST_MS = 20000; // of an animation that is shown as it ends
  const LOOKED_AT_MS = 1000; // the moment at which a longer one is shown
  for (let i = 0; i < frames; i++) {
    await Promise.race([
      new Promise((resolve) => requestAnimationFrame(resolve)),
      // Some pages are never drawn. A busy machine takes long: less would show an older frame.
      new Promise((resolve) => setTimeout(resolve, 4000)),
    ]);
  }
  const MOMENTS = [0, 0.25, 0.5, 0.75]; // of an endless animation, as shares of its period
  // The element's own style is not a moment of an endless animation: it is never visible.
  const stopAtBest = (animation, { delay, duration }) => {
    animation.pause();
    const { target, pseudoElement } = animation.effect;
    let [best, most] = [0, -1];
    for (const share of MOMENTS) {
      animation.currentTime = delay + share * Math.min(duration, LONGEST_MS);
      const style = target && getComputedStyle(target, pseudoElement);
      const seen = style?.visibility === "hidden" ? 0 : parseFloat(style?.opacity ?? 1);
      if (seen > most + 0.01) [best, most] = [animation.currentTime, seen];
      if (most > 0.99) break;
    }
    animation.currentTime = best;
  };
  let moving = 0;
  const still = (document) => {
    const page = globalThis.uiproof.plain(document);
    for (const animation of page.getAnimations()) {
      if (!(animation.timeline instanceof page.defaultView.DocumentTimeline)) continue;
      const timing = animation.effect?.getComputedTiming();
      if (!timing || ["finished", "paused"].includes(animation.playState)) continue;
      try {
        if (Number.isFinite(timing.endTime) && animation.playbackRate !== 0) {
          if (timing.endTime > LONGEST_MS) {
            animation.pause(); // its end is too far away
            animation.currentTime = LOOKED_AT_MS;
          } else animation.finish();
        } else if (animation.playbackRate !== 0 && timing.duration > 0) {
          stopAtBest(animation, timing);
        } else animation.pause();
        moving++;
      } catch {
        // an animation that cannot be finished stays as it is
      }
    }
    for (const marquee of page.querySelectorAll("marquee:not([scrollamount='0'])")) {
      const rests = marquee.cloneNode(false);
      rests.setAttribute("scrollamount", "0");
      rests.append(...marquee.childNodes);
      marquee.replaceWith(rests);
    }
    for (const svg of page.querySelectorAll("svg")) {
      if (svg.pauseAnimations && !svg.animationsPaused()) {
        svg.pauseAnimations();
        svg.setCurrentTime(0);
      }
    }
    for (const media of page.querySelectorAll("video, audio")) {
      media.pause();
      if (!media.controls) continue;
      media.controls = false; // its buttons fade in and out on a clock that cannot be stopped
      if (media.localName === "audio") {
        media.style.setProperty("display", "inline-block", "important");
        media.style.setProperty("visibility", "hidden", "important");
      }
    }
    for (const progress of page.querySelectorAll("progress:indeterminate")) progress.value = 0;
    for (const frame of page.querySelectorAll("iframe, frame, object")) {
      try {
        if (frame.contentDocument) still(frame.contentDocument);
      } catch {
        // a frame of another origin
      }
    }
  };
  globalThis.uiproof.quietly(() => still(document));
  return moving;
}
