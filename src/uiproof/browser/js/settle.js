// Moves the page's own time, and that of its frames, forward, then says so; see steady.js.
async (milliseconds) => {
  const moved = [];
  const move = (frame) => {
    try {
      const advance = frame[Symbol.for("uiproof.advance")];
      if (advance) moved.push(advance(milliseconds));
      for (let i = 0; i < Math.min(frame.length, 50); i++) move(frame[i]);
    } catch {
      // a frame of another origin
    }
  };
  move(window);
  await Promise.all(moved);
  window[Symbol.for("uiproof.say")]("uiproof: settled");
}
