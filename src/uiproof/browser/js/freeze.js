// Ends all movement: what is finite jumps to its end, what is endless goes back to its start.
() => {
  // Its content is for browsers without scripts; stopping the scripts must not bring it up.
  for (const element of document.querySelectorAll("noscript")) {
    element.style.setProperty("display", "none", "important");
  }
  for (const marquee of document.querySelectorAll("marquee")) {
    // One slide of no duration: the text comes to rest fully visible at the far edge.
    marquee.setAttribute("behavior", "slide");
    marquee.setAttribute("loop", "1");
    marquee.setAttribute("truespeed", "");
    marquee.setAttribute("scrolldelay", "1");
    marquee.setAttribute("scrollamount", "1000000");
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (svg.pauseAnimations) {
      svg.setCurrentTime(0);
      svg.pauseAnimations();
    }
  }
  for (const media of document.querySelectorAll("video, audio")) media.pause();
  for (const animation of document.getAnimations()) {
    const timing = animation.effect && animation.effect.getComputedTiming();
    if (timing && Number.isFinite(timing.endTime) && animation.playbackRate !== 0) {
      animation.finish();
    } else {
      animation.cancel();
    }
  }
  window.scrollTo(0, 0);
}
