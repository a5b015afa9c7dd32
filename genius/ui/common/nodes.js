// What the scripts of all panels make nodes with, once for the page. Data becomes text nodes and attribute values, never
// markup.

const node = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const button = (attributes, onClick, ...children) => {
  const made = node('button', {type: 'button', ...attributes}, ...children);
  made.addEventListener('click', () => onClick(made));
  return made;
};

// A part that scrolls where it is larger than its place: the keyboard reaches it, and a screen reader names it.
const scrollRegion = (label, className, ...children) =>
  node('div', {class: className, tabindex: '0', role: 'region', 'aria-label': label}, ...children);

// A table with a header for each column. words: which columns hold texts, where that matters.
const tableOf = (columns, rows, words) => node('table', {},
  node('thead', {}, node('tr', {}, ...columns.map((name, place) =>
    node('th', {scope: 'col', class: words ? words[place] ? 'word' : 'figure' : ''}, name)))), node('tbody', {}, ...rows));

// An ID as chips. The codes that the query's own ID shares are marked, for the eye and for a screen reader;
// within: a button, which has the focus instead. marks: how else each level is marked.
const chips = ({codes, shared, within = false, marks = level => level < shared ? ' shared' : ''}) => {
  const hint = shared === undefined ? '' : shared ? `The first ${shared} of ${codes.length} codes are those of the query’s own ID.`
    : 'No first code is that of the query’s own ID.';
  return node('span', {class: 'codes', 'data-hint': hint, ...within ? {} : {tabindex: '0', role: 'group', 'aria-label': `ID ${codes.join(', ')}`}},
    ...codes.flatMap((code, level) => [node('span', {class: 'level'},
      node('span', {class: `code${marks(level)}`, 'data-prefix': codes.slice(0, level + 1).join('.')}, String(code)),
      level + 1 < codes.length ? ' ·' : ''), ' ']));
};

// Nodes with a dot between them.
const dotted = nodes => nodes.flatMap((one, place) => place ? [node('span', {class: 'dot'}, ' · '), one] : [one]);

// The pages of a list: `turn` gets the number of the one to show.
const pager = (page, pages, turn) => {
  const step = (label, to) => {
    const made = button({class: 'choice', 'aria-label': `${label} page`}, () => turn(to), label);
    made.disabled = to < 0 || to >= pages;
    return made;
  };
  return pages < 2 ? [] : [node('nav', {class: 'choices', 'aria-label': 'Pages'}, step('Previous', page - 1),
    node('span', {class: 'label'}, `page ${(page + 1).toLocaleString('en')} of ${pages.toLocaleString('en')}`), step('Next', page + 1))];
};

// An item as a tile. choose: what a click does. badge: says what kind of item it is.
const itemTile = ({name, modality, text, label, picture, figure, provenance}, choose, badge = false) => {
  const title = [text || label, provenance?.credit, provenance?.licence].filter(Boolean).join('\n');
  return node('li', {}, button({class: `tile box ${modality}`, title}, choose,
    picture ? node('img', {src: picture, alt: text ? '' : label}) : '',
    text ? node('span', {class: picture ? 'caption' : 'excerpt'}, text) : '',
    node('span', {class: 'line'}, badge ? node('span', {class: 'badge'}, name) : '',
      figure ? node('span', {class: 'figure'}, figure) : '')));
};

// What few people need.
const folded = (name, ...children) => node('details', {class: 'folded-note'}, node('summary', {}, name), ...children);

// Choices that a click opens, and any other click or Escape closes (search/keys.js).
const menu = (name, attributes, ...children) => node('details', {class: 'menu'}, node('summary', attributes, name),
  node('div', {class: 'choices'}, ...children));

// Who made an item, and its license, in few lines; its tooltip says all, and where the item is from.
const creditLine = provenance => {
  const {credit, licence, origin} = provenance ?? {};
  const repeated = credit && licence && credit.includes(licence);    // photographers often write their license themselves
  const line = [credit, repeated ? '' : licence].filter(Boolean).join(' · ') || origin?.replace(/^https?:\/\//, '');
  return line ? [node('span', {class: 'credit', title: [credit, licence, origin].filter(Boolean).join('\n')}, line)] : [];
};

// The three first codes by probability, the chosen one marked, with a bar of their shares; only: what it says where
// the visitor chose.
const firstCodes = ({label, targets, only}) => {
  const hint = 'What the search expects you to want: how probable each of the three first codes is.';
  const names = targets.map(target =>
    node('span', {class: `target ${target.modality}${target.chosen ? ' chosen' : ''}`}, `${target.name} ${target.probability}`));
  return [node('p', {class: 'targets', 'data-hint': hint, tabindex: '0'}, node('span', {class: 'label'}, `${label} `), ...dotted(names)), node('div', {class: 'bar', 'aria-hidden': 'true', 'data-hint': hint},
    ...targets.map(target => node('i', {class: target.modality, style: `width: ${100 * target.share}%`}))),
  ...only ? [node('p', {class: 'label only'}, only)] : []];
};

// A button that saves a file which came with the data.
const saveButton = ({name, label, type, text}) => button({title: `Save as ${name}`}, () => {
  const link = node('a', {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}, label);

// A button that copies a text, or what a field holds. what: its name.
const copyButton = (part, what) => button({class: 'plain', 'aria-label': `Copy ${what}`}, async clicked => {
  if (part.select) part.select();
  else getSelection().selectAllChildren(part);
  const copied = navigator.clipboard ? navigator.clipboard.writeText(part.value ?? part.textContent) : Promise.reject();
  await copied.then(() => { clicked.textContent = 'Copied'; }, () => { clicked.textContent = 'Press Ctrl+C'; });
  genius.say(clicked.textContent);    // the label stands for the words on the button
  setTimeout(() => { clicked.textContent = 'Copy'; }, 2000);
}, 'Copy');
