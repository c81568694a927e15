// What the oracle asks a page; put into every page before it loads.
window.looking = {
  box(selector) {
    const found = document.querySelector(selector);
    if (!found) return null;
    const box = found.getBoundingClientRect();
    let seen = getComputedStyle(found).visibility !== 'hidden' && box.width * box.height >= 1;
    for (let e = found; e; e = e.parentElement) if (getComputedStyle(e).opacity === '0') seen = false;
    if (!seen) return null;
    return [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY];
  },

  // In the window, after scrolling to it; and whether a click there meets it.
  place(selector) {
    const found = document.querySelector(selector);
    found.scrollIntoView({block: 'nearest'});
    const box = found.getBoundingClientRect();
    const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    const hit = document.elementFromPoint(x, y);
    return [x, y, !!hit && (found.contains(hit) || hit.contains(found))];
  },

  nature(selector) {
    const found = document.querySelector(selector);
    return found ? [found.localName, (found.innerText || found.value || '').trim()] : ['', ''];
  },

  choose(selector, label) {
    const all = [...document.querySelector(selector).querySelectorAll('*')];
    all.filter(e => e.textContent.trim() === label).pop()?.click();
  },

  // Leaves with words on them, away from the trigger and the effect: what a mistake may pick.
  strangers(trigger, effects) {
    const involved = [trigger, ...effects].flatMap(s => [...document.querySelectorAll(s)])
      .filter(e => e !== document.body);
    const apart = e => involved.every(o => !o.contains(e) && !e.contains(o));
    const place = e => [...e.parentElement.children].indexOf(e) + 1;
    const path = e => e === document.body ? 'body' : `${path(e.parentElement)} > :nth-child(${place(e)})`;
    const plain = e => !e.children.length && e.innerText?.trim().length > 2
      && !e.closest('script, style, select, svg, template');
    const visible = e => {
      const box = e.getBoundingClientRect();
      const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return box.width >= 30 && box.height >= 14 && box.bottom < innerHeight && hit === e;
    };
    const told = e => {
      const box = e.getBoundingClientRect();
      return {path: path(e), tag: e.localName, text: e.innerText.trim(),
        box: [box.left, box.top, box.right, box.bottom]};
    };
    return [...document.body.querySelectorAll('*')].filter(e => plain(e) && apart(e) && visible(e)).map(told);
  },
};
