// How one ID narrows down the collection, code by code, and what if another code had been chosen.
import {tiles} from '../page/items.js';
import {button, folded, node, scrollRegion} from '../page/nodes.js';

const STEP = 240, ALL = 1700;    // milliseconds: of a column, and at most of all columns
let timer, open = false;    // open: the steps are shown, which stays from search to search

// Items of a level: thumbnails, then the first words of those without a picture.
const shown = (rows, items) => {
  const some = rows.map(row => items[row]), title = ({text, label}) => text || label;
  return node('ul', {}, ...some.filter(one => one.picture).map(one => node('li', {class: one.modality}, node('img', {src: one.picture, alt: title(one), title: title(one), loading: 'lazy'}))),
    ...some.filter(one => !one.picture).map(one => node('li', {class: `excerpt ${one.modality}`, title: title(one)}, one.text)));
};
const chip = ({code, name, prefix}) => node('span', {class: 'code', 'data-prefix': prefix}, name ? `${code} ${name}` : String(code));
const meaning = ({prefix, name}) => node('span', {class: 'meaning', ...name ? {} : {'data-meaning': prefix}});
const probability = ({code, settled}) => !code || settled ? '' : code.probability;

const rowsOf = (items, branch) => {
  // Another code with an item that is typical of it: its picture, or else its name or text.
  const other = choice => {
    const {level, code, name, probability, items: left, row} = choice;
    const hint = `${name || code}, ${probability}, ${left}: what if it had been chosen?`, typical = items[row];
    const like = name || !typical ? [] : typical.picture ? [node('img', {src: typical.picture, alt: '', loading: 'lazy'})] : [node('span', {class: 'like'}, typical.text)];
    return node('li', {}, button({class: 'other', title: hint, 'aria-label': hint}, () => branch([level, code]), chip(choice), ...like, node('span', {class: 'figure'}, probability)));
  };
  return [
    ['id', 'Code', ({code}) => [code ? chip(code) : '']],
    ['meaning', 'Meaning', ({code, settled}) => [code && !settled ? meaning(code) : '']],
    ['share', 'Probability', column => [probability(column)]],
    ['masked', 'Ruled out', ({masked, settled}) => [settled ? '' : masked ?? '']],
    ['beam', 'Beam', ({beam}) => [beam]],
    ['left', 'Items still possible', ({items: left, share}) => [node('b', {}, left), node('i', {class: 'funnel', 'aria-hidden': 'true', style: {width: `${100 * share}%`}})]],
    ['some', 'Some of them', ({rows}) => [shown(rows, items)]],
    ['others', 'Other codes', ({others}) => others.length ? [node('ul', {}, ...others.map(other))] : ['']],
  ];
};
const cell = (tag, step, {settled}, more, ...children) => node(tag, {class: settled ? 'settled' : '', 'data-step': step, ...more}, ...children);

// A column per level. Where one ID is left, the last columns share one cell with what has it.
const table = ({columns, items, ending}, branch) => {
  const first = columns.findIndex(({settled}) => settled), opened = first < 0 ? columns : columns.slice(0, first), rest = columns.length - opened.length;
  const line = ([row, name, fill]) => {
    const joined = rest && (row === 'some' || row === 'others');
    const cells = (joined ? opened : columns).map((column, step) => cell('td', step, column, {}, ...fill(column)));
    if (joined && row === 'some') cells.push(cell('td', opened.length, {settled: true}, {colspan: rest, rowspan: 2},
      node('div', {class: 'ending'}, shown(ending.rows, items), node('p', {}, ending.note))));
    return node('tr', {class: `row-${row}`}, node('th', {scope: 'row', class: 'name'}, name), ...cells);
  };
  return node('table', {}, node('thead', {}, node('tr', {}, node('td', {class: 'name'}), ...columns.map((column, step) => cell('th', step, column, {scope: 'col'}, column.head)))),
    node('tbody', {}, ...rowsOf(items, branch).map(line)));
};

// Shows one column after another, from the first that the visitor has not seen: its button, and what stops it.
const player = (strip, columns, first) => {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const control = button({class: 'plain play'}, () => timer ? stop() : play(1), 'Play again');
  const cells = [...strip.querySelectorAll('[data-step]')];
  const until = step => cells.forEach(one => one.classList.toggle('ahead', one.dataset.step > step));
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    until(columns.length);
    control.textContent = 'Play again';
  };
  const play = from => {
    clearInterval(timer);
    let step = from - 1;
    until(step);
    control.textContent = 'Stop';
    timer = setInterval(() => {
      until(++step);
      if (step >= columns.length - 1) stop();
    }, Math.min(STEP, ALL / (columns.length - from)));
  };
  if (!calm && first < columns.length) play(first);
  return {controls: calm ? [] : [control], stop};
};

// The steps in one line, until one ID is left: a picture, a name and the number of items of each; a click opens its region.
const path = ({columns, items}, openMap) => {
  const kind = columns[1]?.items === columns[0].items && columns[1].code.name;    // the only one that is searched
  const steps = columns.filter(({items: left, settled}, place) => !settled && left !== columns[place - 1]?.items);
  return node('ol', {}, ...steps.map(({code, items: left, rows}) => {
    const seen = rows.map(row => items[row]).find(one => one.picture);
    const name = !code ? `All ${kind ? `${kind.toLowerCase()}s` : 'items'}` : code.name ? `${code.name}s` : `code ${code.code}`;
    const words = [...seen ? [node('img', {src: seen.picture, alt: ''})] : [], node('span', code && !code.name ? {'data-short': code.prefix, 'data-prefix': code.prefix} : {}, name), ' ', node('b', {}, left)];
    return node('li', {}, code && !code.name ? button({class: 'link', title: 'Show on the map'}, () => openMap({code: code.prefix}), ...words) : node('span', {}, ...words));
  }));
};

// follow: shows another ID; branch: gets [level, code] of what is chosen instead; found: results of that.
export const steps = (value, {follow, branch, found, page}) => {
  clearInterval(timer);
  timer = undefined;
  if (!value) return [];
  const {title, sentence, note, meaning: meanings, columns, paths, branched, play} = value;
  const levels = table(value, branch);
  open ||= branched;
  const {controls, stop} = player(levels, columns, open ? play : columns.length);
  const choices = paths.length > 1 || branched ? [node('div', {class: 'choices', role: 'group', 'aria-label': 'Which ID'}, ...paths.map(({name, column, rank, chosen}) =>
    button({class: 'choice', ...branched ? {} : {'aria-pressed': String(chosen)}}, () => follow(column, rank), name)))] : [];
  const all = node('div', {class: 'steps', id: 'steps'},
    node('div', {class: 'top'}, node('h2', {}, title), ...choices, ...controls),
    node('p', {class: 'sentence', 'data-announced': ''}, sentence),
    scrollRegion('The ID, level by level', 'levels', levels),
    node('p', {class: 'note'}, `${note} Click another code to see what it would have found.`),
    folded('What these numbers mean', ...meanings.map(words => node('p', {}, words))));
  const show = toggle => {
    all.hidden = !open;
    toggle.textContent = open ? 'Hide the steps' : 'Show the steps';
    toggle.setAttribute('aria-expanded', String(open));
  };
  const toggle = button({class: 'link', 'aria-controls': 'steps'}, clicked => { open = !open; show(clicked); });
  show(toggle);
  const section = node('section', {class: `generation box${branched ? ' branched' : ''}`, 'aria-label': title},
    node('div', {class: 'path'}, node('span', {class: 'label'}, 'How it got there:'), path(value, page.openMap), toggle), all);
  section.addEventListener('keydown', ({key}) => { if (key === 'Escape') stop(); });
  return [section, ...found ? [node('section', {id: 'strip-found'}, node('h2', {}, found.title, node('span', {class: 'label'}, ` ${found.note}`)),
    tiles(found.tiles, id => page.ask({item: id})))] : []];
};
