// Returns the size of the whole page in CSS pixels, as full-page screenshots take it.
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
