// Ends all movement of a staged page without stopping its scripts: what is finite jumps to its end
// (the page hears of it), what is endless goes back to its start. Says how many moved.
// frames  how many real frames to wait for first, so that the browser's own work gets done
async ({ frames }) => {
  const LONGEST_MS = 20000; // of an animation that is shown as it ends
  const LOOKED_AT_MS = 1000; // when a longer one is shown
  for (let i = 0; i < frames; i++) {
    await Promise.race([
      new Promise((resolve) => requestAnimationFrame(resolve)),
      new Promise((resolve) => setTimeout(resolve, 100)), // a page under a modal may have no frames
    ]);
  }
  let moving = 0;
  const still = (document) => {
    const page = globalThis.uiproof.plain(document);
    for (const animation of page.getAnimations()) {
      if (!(animation.timeline instanceof page.defaultView.DocumentTimeline)) continue;
      const timing = animation.effect?.getComputedTiming();
      try {
        if (timing && Number.isFinite(timing.endTime) && animation.playbackRate !== 0) {
          if (animation.playState === "finished") continue;
          if (timing.endTime > LONGEST_MS) {
            // Nobody waits for its end.
            if (animation.playState === "paused") continue;
            animation.pause();
            animation.currentTime = LOOKED_AT_MS;
          } else animation.finish();
        } else {
          animation.cancel();
        }
        moving++;
      } catch {
        // an animation that cannot be ended stays where it is
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
      media.controls = false; // its buttons fade in and out on a clock that nobody can stop
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
