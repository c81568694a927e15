// What a script in a mutated page needs: it meddles with what the page itself does.
const EVENTS = ['click', 'dblclick', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'mouseover',
  'mouseenter', 'mousemove', 'input', 'change', 'keydown', 'keyup', 'keypress', 'scroll', 'toggle'];

let passing = false; // while a carried action goes through

// The page's own handlers hear nothing of what a person does to `find()`; `instead` hears `main`.
function intercept(find, main, instead) {
  for (const type of EVENTS) {
    // Chromium sends no mouseenter for a listener on the window alone.
    (type === 'mouseenter' ? document : window).addEventListener(type, event => {
      const target = find();
      const inside = target && (target === document.body || target.contains(event.target));
      const anywhere = target && type === main && ['keydown', 'scroll'].includes(type);
      if (passing || !(inside || anywhere)) return;
      event.stopImmediatePropagation();
      if (['click', 'keydown'].includes(type) && event.key?.length !== 1) event.preventDefault();
      if (type === main && instead) instead(target, event);
    }, true);
  }
}

// `other` does what `trigger` did, which is dead now.
function carry(trigger, other, kind) {
  intercept(() => trigger, null, null);
  const send = (type, more) => {
    passing = true;
    trigger.dispatchEvent(new MouseEvent(type, {bubbles: more, cancelable: true}));
    passing = false;
  };
  if (kind === 'click') other.addEventListener('click', event => {
    if (other.matches('a')) event.preventDefault();
    passing = true;
    (trigger.matches('label, details') && trigger.querySelector('input') || trigger).click();
    passing = false;
  });
  if (kind === 'hover') other.addEventListener('mouseenter', () => { send('mouseenter', false); send('mouseover', true); });
  const hand = () => {
    const shown = trigger.value;
    passing = true;
    trigger.value = other.value;
    trigger.dispatchEvent(new Event('input', {bubbles: true}));
    trigger.dispatchEvent(new Event('change', {bubbles: true}));
    passing = false;
    trigger.value = shown;
  };
  if (kind === 'type') other.addEventListener('input', hand);
  if (kind === 'select') other.addEventListener('change', hand);
}

function rename(trigger, other, id) {
  if (trigger) trigger.removeAttribute('id');
  other.id = id;
}

// Calls `then` whenever the page changes an element, which stops watching while `then` runs.
function watch(element, then) {
  const what = {subtree: true, childList: true, characterData: true, attributes: true};
  const observer = new MutationObserver(() => { observer.disconnect(); then(); observer.observe(element, what); });
  observer.observe(element, what);
}

function remember(element) {
  const html = element.innerHTML, name = element.className, style = element.getAttribute('style');
  return () => {
    if (element.innerHTML !== html) element.innerHTML = html;
    element.className = name;
    style === null ? element.removeAttribute('style') : element.setAttribute('style', style);
  };
}

function freeze(element) { watch(element, remember(element)); }

const LOOK = ['color', 'backgroundColor', 'borderColor', 'textDecorationLine'];

// What the page does to `element` is done to `other`; `element` stays as it was.
function redirect(element, other) {
  const restore = remember(element), text = element.innerText, look = {...pickLook(element)};
  watch(element, () => {
    const now = element.innerText, shown = pickLook(element);
    restore();
    if (now !== text) other.innerText = now;
    for (const key of LOOK) if (shown[key] !== look[key]) other.style[key] = shown[key];
  });
}

function pickLook(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(LOOK.map(key => [key, style[key]]));
}

// Mistakes that need more than a line. `t` is the element that is acted on, `id` its id.

function cover(id) {
  const box = document.getElementById(id).getBoundingClientRect(), veil = document.createElement('div');
  veil.style.cssText = `position:absolute;z-index:99999;left:${box.left + scrollX - 4}px;
    top:${box.top + scrollY - 4}px;width:${box.width + 8}px;height:${box.height + 8}px`;
  document.body.append(veil);
}

function leaveGap(id, size) {
  const gap = document.createElement('div');
  gap.style.cssText = `display:inline-block;${size}`;
  document.getElementById(id).replaceWith(gap);
}

function loseListeners(id) {
  const t = document.getElementById(id), copy = t.cloneNode(true);
  copy.removeAttribute('onclick');
  copy.removeAttribute('oninput');
  t.replaceWith(copy);
}

function carryBy(id, selector, kind) {
  const t = document.getElementById(id), other = document.querySelector(selector);
  if (t.options) other.innerHTML = t.innerHTML;
  rename(t, other, id);
  carry(t, other, kind);
}

// Something else in the place of an element does what that did.
function standIn(id, html, kind) {
  const t = document.getElementById(id), style = getComputedStyle(t), hold = document.createElement('div');
  hold.innerHTML = html;
  const other = hold.firstChild;
  if (['absolute', 'fixed'].includes(style.position))
    for (const key of ['position', 'left', 'top']) other.style[key] = style[key];
  other.style.zIndex = 5;
  t.before(other);
  rename(t, other, id);
  t.style.setProperty('display', 'none', 'important');
  carry(t, other, kind);
}

// The options of a list as radio buttons.
function spreadChoices(id) {
  const t = document.getElementById(id), other = document.createElement('div');
  for (const option of t.options) {
    const label = document.createElement('label'), dot = document.createElement('input');
    Object.assign(dot, {type: 'radio', name: 'choice', checked: option.selected});
    label.append(dot, option.text);
    dot.onchange = () => {
      t.value = option.value;
      for (const type of ['input', 'change']) t.dispatchEvent(new Event(type, {bubbles: true}));
    };
    other.append(label);
  }
  t.before(other);
  rename(t, other, id);
  t.style.display = 'none';
}

function putAtTheEnd(selector) {
  const put = () => {
    const found = document.querySelector(selector);
    if (!found || found.parentElement === document.body && !found.nextElementSibling) return;
    const width = found.getBoundingClientRect().width;
    document.body.append(found);
    if (width) found.style.width = width + 'px';
    Object.assign(found.style, {position: 'static', transform: 'none'});
  };
  put();
  watch(document.body, put);
}

function boxy(element) {
  if (getComputedStyle(element).display === 'inline') element.style.display = 'inline-block';
}

function jumpWhenChanged(selector) {
  const found = document.querySelector(selector);
  watch(found, () => { boxy(found); found.style.translate = '-180px 140px'; });
}

function transform(t, how) {
  boxy(t);
  t.style.transform = how;
}

function pinColours(selector) {
  for (const element of document.querySelectorAll(selector)) {
    const style = getComputedStyle(element);
    const keys = ['color', 'background-color'].filter(key => style[key] !== 'rgba(0, 0, 0, 0)');
    for (const key of keys) element.style.setProperty(key, style[key], 'important');
  }
}

function openAnotherPage() {
  document.body.innerHTML = `<div style="padding:60px;font-size:28px">Welcome to the new page
    <p>Here is everything about us, our history and our friends.</p></div>`;
}

function showNote() {
  if (document.querySelector('.note-of-ours')) return;
  const note = document.createElement('div');
  Object.assign(note, {className: 'note-of-ours', textContent: 'Action completed'});
  note.style.cssText = `position:fixed;right:24px;top:90px;background:#2b2b2b;color:#fff;
    padding:18px 28px;z-index:99;font:16px Arial`;
  document.body.append(note);
}

function darkenThePage() {
  for (const element of document.querySelectorAll('body, body *')) {
    element.style.setProperty('background', '#13203a', 'important');
    element.style.setProperty('color', '#f3f6ff', 'important');
  }
}

// A component that is about something else, as large as the right one.
function fillWith(selector, html) {
  const put = () => {
    const found = document.querySelector(selector);
    if (!found || found.dataset.other) return;
    const box = found.getBoundingClientRect();
    found.dataset.other = 1;
    found.innerHTML = html;
    if (box.width) Object.assign(found.style,
      {minWidth: box.width + 'px', minHeight: box.height + 'px', boxSizing: 'border-box'});
  };
  put();
  watch(document.body, put);
}

function sayOtherwise(selector, words) {
  const found = document.querySelector(selector), restore = remember(found);
  watch(found, () => { restore(); found.textContent = words; });
}

function doWhatAnotherDoes(id, other) {
  const t = document.getElementById(id), o = document.getElementById(other);
  intercept(() => t, 'click', () => {
    passing = true;
    (o.querySelector('input') || o).click();
    passing = false;
  });
}
