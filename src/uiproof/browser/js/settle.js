// Moves the page's own time, and that of its frames, forward; see steady.js.
async (milliseconds) => {
  const drawn = window[Symbol.for("uiproof.drawn")];
  await drawn();
  const moved = [];
  const move = (frame) => {
    try {
      const advance = frame[Symbol.for("uiproof.advance")];
      if (advance) moved[moved.length] = advance(milliseconds);
      for (let i = 0; i < Math.min(frame.length, 50); i++) move(frame[i]);
    } catch {
      // a frame of another origin
    }
  };
  move(window);
  for (const one of moved) await one; // the page may have replaced what Promise means
  await drawn();
}
