// What all panels make nodes with. Data becomes text nodes and attribute values, never markup.

export const node = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name !== 'style') made.setAttribute(name, value);
    else for (const [property, size] of Object.entries(value)) made.style.setProperty(property, size);
  }
  made.append(...children);
  return made;
};

export const button = (attributes, onClick, ...children) => {
  const made = node('button', {type: 'button', ...attributes}, ...children);
  made.addEventListener('click', () => onClick(made));
  return made;
};

export const written = number => number.toLocaleString('en');
export const counted = (number, word) => `${written(number)} ${word}${number === 1 ? '' : 's'}`;

// Tells a screen reader. One node, which stays, takes all texts: a node that comes with its text is often not read.
export const say = words => { document.getElementById('announcer').textContent = words; };

// Redraws a part of the page. The focus stays at its control, which is found again by its name or else by its place; what
// is marked data-announced is told, by the words in that attribute or else by its text.
const CONTROLS = 'a[href], button, input, select, summary, textarea, [tabindex]';
const nameOf = control => control.dataset.key ?? control.getAttribute('aria-label') ?? control.textContent;
export const replace = (root, nodes) => {
  const controls = () => [...root.querySelectorAll(CONTROLS)];
  const before = root.contains(document.activeElement) ? controls() : [];
  const place = before.indexOf(document.activeElement), name = place < 0 ? '' : nameOf(before[place]);
  const earlier = before.slice(0, Math.max(place, 0)).filter(control => nameOf(control) === name).length;
  root.replaceChildren(...nodes);
  const marked = [...root.querySelectorAll('[data-announced]')].filter(one => one.checkVisibility());
  if (marked.length) say(marked.map(one => one.dataset.announced || one.textContent).join(' '));
  if (place < 0) return;
  const after = controls(), alike = after.filter(control => nameOf(control) === name);
  (alike[earlier] ?? alike.at(-1) ?? after[place] ?? after.at(-1))?.focus({preventScroll: true});
};

// A part that scrolls where it is larger than its place: the keyboard reaches it, and a screen reader names it.
export const scrollRegion = (label, className, ...children) =>
  node('div', {class: className, tabindex: '0', role: 'region', 'aria-label': label}, ...children);

// A table with a header for each column. words: which columns hold texts, where that matters.
export const tableOf = (columns, rows, words) => node('table', {},
  node('thead', {}, node('tr', {}, ...columns.map((name, place) =>
    node('th', {scope: 'col', class: words ? words[place] ? 'word' : 'figure' : ''}, name)))), node('tbody', {}, ...rows));

// Tables with bars, as the server describes them: [{caption, note, columns, rows of {text, bar}}].
export const dataTables = tables => node('div', {class: 'data-table'}, ...tables.map(({caption, note, columns, rows}) => {
  const cell = ({text, bar}, place) => node(place ? 'td' : 'th', place ? {} : {scope: 'row'}, text,
    ...bar === undefined ? [] : [node('i', {class: 'under', style: {width: `${100 * bar}%`}})]);
  return node('section', {}, node('h2', {}, caption), ...note ? [node('p', {class: 'note'}, note)] : [],
    scrollRegion(caption, 'scroll', tableOf(columns, rows.map(row => node('tr', {}, ...row.map(cell))))));
}));

// An ID as chips; the codes that the query's own ID shares are marked. within: a button, which has the focus instead.
export const chips = ({codes, shared, within = false, marks = level => level < shared ? ' shared' : ''}) => {
  const hint = shared === undefined ? '' : shared ? `The first ${shared} of ${codes.length} codes are those of the query’s own ID.`
    : 'No first code is that of the query’s own ID.';
  return node('span', {class: 'codes', 'data-hint': hint, ...within ? {} : {tabindex: '0', role: 'group', 'aria-label': `ID ${codes.join(', ')}`}},
    ...codes.flatMap((code, level) => [node('span', {class: 'level'},
      node('span', {class: `code${marks(level)}`, 'data-prefix': codes.slice(0, level + 1).join('.')}, String(code)),
      level + 1 < codes.length ? ' ·' : ''), ' ']));
};

export const dotted = nodes => nodes.flatMap((one, place) => place ? [node('span', {class: 'dot'}, ' · '), one] : [one]);

// The pages of a list: `turn` gets the number of the one to show.
export const pager = (page, pages, turn) => {
  const step = (label, to) => {
    const made = button({class: 'choice', 'aria-label': `${label} page`}, () => turn(to), label);
    made.disabled = to < 0 || to >= pages;
    return made;
  };
  return pages < 2 ? [] : [node('nav', {class: 'choices', 'aria-label': 'Pages'}, step('Previous', page - 1),
    node('span', {class: 'label'}, `page ${written(page + 1)} of ${written(pages)}`), step('Next', page + 1))];
};

// What few people need.
export const folded = (name, ...children) => node('details', {class: 'folded-note'}, node('summary', {}, name), ...children);

// Choices that a click opens, and any other click or Escape closes.
export const menu = (name, attributes, ...children) => node('details', {class: 'menu'}, node('summary', attributes, name),
  node('div', {class: 'choices'}, ...children));
export const closeMenus = (inside = null) => {
  for (const opened of document.querySelectorAll('details:is(.menu, .popover)[open]')) {
    if (inside && opened.contains(inside)) continue;
    if (!inside && opened.contains(document.activeElement)) opened.querySelector('summary').focus();
    opened.open = false;
  }
};

// Who made an item, and its license, in few lines; its tooltip says all, and where the item is from.
export const creditLine = provenance => {
  const {credit, licence, origin} = provenance ?? {};
  const repeated = credit && licence && credit.includes(licence);    // photographers often write their license themselves
  const line = [credit, repeated ? '' : licence].filter(Boolean).join(' · ') || origin?.replace(/^https?:\/\//, '');
  return line ? [node('span', {class: 'credit', title: [credit, licence, origin].filter(Boolean).join('\n')}, line)] : [];
};

// The three first codes by probability, the chosen one marked, with a bar of their shares; only: what it says where the
// visitor chose.
export const firstCodes = ({label, targets, only}) => {
  const hint = 'What the search expects you to want: how probable each of the three first codes is.';
  const names = targets.map(target =>
    node('span', {class: `target ${target.modality}${target.chosen ? ' chosen' : ''}`}, `${target.name} ${target.probability}`));
  return [node('p', {class: 'targets', 'data-hint': hint, tabindex: '0'}, node('span', {class: 'label'}, `${label} `), ...dotted(names)),
    node('div', {class: 'bar', 'aria-hidden': 'true'}, ...targets.map(target =>
      node('i', {class: target.modality, style: {width: `${100 * target.share}%`}}))),
    ...only ? [node('p', {class: 'label only'}, only)] : []];
};

export const saveFile = ({name, type, text}) => {
  const link = node('a', {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// A button that copies a text, or what a field holds. what: its name.
export const copyButton = (part, what) => button({class: 'plain', 'aria-label': `Copy ${what}`}, async clicked => {
  if (part.select) part.select();
  else getSelection().selectAllChildren(part);
  const copied = navigator.clipboard ? navigator.clipboard.writeText(part.value ?? part.textContent) : Promise.reject();
  await copied.then(() => { clicked.textContent = 'Copied'; }, () => { clicked.textContent = 'Press Ctrl+C'; });
  say(clicked.textContent);    // the label stands for the words on the button
  setTimeout(() => { clicked.textContent = 'Copy'; }, 2000);
}, 'Copy');

// Brings a part of the page into view, and keeps it there while it or the page grows, until the visitor does something.
let growing;
for (const act of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
  addEventListener(act, () => growing?.disconnect(), {capture: true, passive: true});
export const reveal = (part, block = 'start') => {
  growing?.disconnect();
  const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
  growing = new ResizeObserver(() => part.scrollIntoView({block, behavior}));
  growing.observe(part);    // it tells the first size, too
  growing.observe(document.body);    // what grows above or below moves the part, or makes room for it
};
