// The names of codes, by prefix such as 0.17, and a small card that shows them: the name of a code (data-prefix), or those of
// all codes of an ID, with typical pictures, and what a term means (data-hint), for what the mouse points at, what has the
// keyboard's focus, or what a finger taps.
import {get} from './api.js';
import {node} from './nodes.js';

const NAMELESS = 'mixed';
let names = {};
const pictures = {};    // by prefix; null: asked for

export const nameOf = prefix => names[prefix];
// The first word of a name; none where the items have no common meaning.
const shortName = prefix => names[prefix] === NAMELESS ? undefined : names[prefix]?.match(/^[^,]+/)?.[0];

// Elements that show the name of a code, or its first word in place of what they show, which may come after them.
export const fillMeanings = () => {
  document.querySelectorAll('[data-meaning]').forEach(meaning => { meaning.textContent = names[meaning.dataset.meaning] ?? ''; });
  document.querySelectorAll('[data-short]').forEach(short => {
    const name = shortName(short.dataset.short);
    if (name) short.textContent = short.closest('#why') ? `“${name}”` : name;
  });
};
export const loadNames = async () => {
  names = await get('names');
  fillMeanings();
};
let loading = null;
export const wantNames = () => loading ??= loadNames();

const HINTED = '[data-prefix], [data-hint]', WAIT = 250;    // milliseconds
const card = node('div', {class: 'hint-card', id: 'hint-card', hidden: '', role: 'tooltip'});
let anchor = null, closedAnchor = null, timer;
const hide = () => {
  clearTimeout(timer);
  anchor?.removeAttribute('aria-describedby');
  anchor = null;
  card.hidden = true;
};
const line = (words, className = '') => node('p', {class: className}, words);
const nameLine = ({dataset: {prefix}}) => names[prefix] ? [line(`${prefix.replaceAll('.', ' · ')}: ${names[prefix]}`, 'of-code')] : [];
const lines = () => {
  const codes = anchor.dataset.prefix ? [anchor] : [...anchor.querySelectorAll('[data-prefix]')];
  const hint = anchor.closest('[data-hint]')?.dataset.hint;
  return [...codes.flatMap(nameLine), ...hint ? [line(hint)] : []];
};

// Below its anchor, or above where there is no room; hidden where the anchor is out of view.
const place = () => {
  const {left, right, bottom, top} = anchor.getBoundingClientRect(), {offsetWidth, offsetHeight} = card;
  if (bottom < 0 || top > innerHeight || right < 0 || left > innerWidth) return hide();
  card.style.left = `${Math.max(4, Math.min(left, innerWidth - offsetWidth - 4))}px`;
  card.style.top = `${bottom + offsetHeight + 6 < innerHeight ? bottom + 4 : Math.max(4, top - offsetHeight - 4)}px`;
};
const show = () => {
  if (!anchor?.isConnected) return hide();
  const hints = lines(), shown = pictures[anchor.dataset.prefix] ?? [];
  if (!hints.length) return;
  card.replaceChildren(...shown.map(({picture, label}) => node('img', {src: picture, alt: label})), ...hints,
    ...shown.length ? [line('Shown: what is nearest to the average of its items.')] : []);
  if (!card.isConnected) document.body.append(card);
  card.hidden = false;
  anchor.setAttribute('aria-describedby', card.id);
  place();
};
const wantPictures = async prefix => {
  if (!names[prefix] || prefix in pictures) return;
  pictures[prefix] = null;
  const found = await get(`names/${prefix}`).catch(() => ({pictures: []}));
  pictures[prefix] = found.pictures;
  if (anchor?.dataset.prefix === prefix && !card.hidden) show();
};

// At once, without wait: a screen reader reads the description of what gets the focus then.
const anchorTo = (target, wait = false) => {
  const hinted = target.closest?.(HINTED) ?? null;
  if (hinted === anchor) return;
  hide();
  if (!hinted) return;
  anchor = hinted;
  if (!wait) show();
  timer = setTimeout(() => {
    if (wait) show();
    if (hinted.dataset.prefix) wantPictures(hinted.dataset.prefix);
  }, WAIT);
};
document.addEventListener('pointerover', ({target, pointerType}) => pointerType === 'mouse' && anchorTo(target, true));
document.addEventListener('focusin', ({target}) => target.matches(':focus-visible') && anchorTo(target));
document.addEventListener('focusout', ({target}) => target.closest?.(HINTED) === anchor && hide());
// A second tap closes the card; a tap on a button does what the button does.
document.addEventListener('pointerdown', () => { closedAnchor = anchor; hide(); });
document.addEventListener('pointerup', ({target, pointerType}) => {
  if (pointerType === 'mouse' || target.closest?.('button, a, summary') || target.closest?.(HINTED) === closedAnchor) return;
  anchorTo(target);
});
document.addEventListener('keydown', hide);
addEventListener('scroll', () => card.hidden || place(), {passive: true, capture: true});
