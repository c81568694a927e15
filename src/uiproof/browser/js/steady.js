// Runs before any script of the page, in every frame: chance becomes the same chance every time.
// (Time itself is Playwright's clock.)
(() => {
  let state = 0x2545f491;
  const next = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  Math.random = () => next();
  Crypto.prototype.getRandomValues = function getRandomValues(array) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = next() * 256;
    return array;
  };
  Crypto.prototype.randomUUID = () => {
    const hex = Array.from({ length: 32 }, () => ((next() * 16) | 0).toString(16)).join("");
    return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
  };
})();
