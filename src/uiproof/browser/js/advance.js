// Moves the page's own time, and that of its frames, forward; see steady.js. Says in how many
// milliseconds the next call that happens only once is due, or null.
async (milliseconds) => {
  const moved = [];
  let next = Infinity;
  const each = (frame, work) => {
    try {
      work(frame);
      for (let i = 0; i < Math.min(frame.length, 50); i++) each(frame[i], work);
    } catch {
      // a frame of another origin
    }
  };
  each(window, (frame) => moved.push(frame[Symbol.for("uiproof.advance")]?.(milliseconds)));
  await Promise.all(moved);
  each(window, (frame) => {
    next = Math.min(next, frame[Symbol.for("uiproof.due")]?.() ?? Infinity);
  });
  return Number.isFinite(next) ? next : null;
}
