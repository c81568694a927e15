// The whole page's size in CSS pixels, as full-page screenshots understand it.
() => {
  const root = document.documentElement;
  const body = document.body;
  const largest = (side) =>
    Math.max(
      0,
      ...[root, body]
        .filter(Boolean)
        .flatMap((element) => [element[`scroll${side}`], element[`offset${side}`], element[`client${side}`]])
        .filter(Number.isFinite),
    );
  return { width: Math.ceil(largest("Width")), height: Math.ceil(largest("Height")) };
}
