// Makes the browser decide anew what it paints behind pictures. It leaves out a background behind an
// opaque picture, but does not know whether one is opaque until it is decoded, and what was painted
// before stays. Otherwise edges that are half transparent would depend on when that was.
() => {
  const repaint = (page) => {
    const sheet = new page.defaultView.CSSStyleSheet();
    sheet.replaceSync(":root { image-rendering: pixelated !important }"); // all elements inherit it
    const sheets = [...page.adoptedStyleSheets];
    for (const adopted of [[...sheets, sheet], sheets]) {
      page.adoptedStyleSheets = adopted;
      page.documentElement?.getBoundingClientRect();
    }
    for (const frame of page.querySelectorAll("iframe, frame, object")) {
      try {
        if (frame.contentDocument) repaint(frame.contentDocument);
      } catch {
        // a frame of another origin
      }
    }
  };
  repaint(document);
}
