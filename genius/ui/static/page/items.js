// Items as tiles and as cards.
import {button, creditLine, folded, node, replace} from './nodes.js';
import {nameOf} from './names.js';

// choose: what a click does. badge: says what kind of item it is.
const itemTile = ({name, modality, text, label, picture, figure, provenance}, choose, badge = false) => {
  const title = [text || label, provenance?.credit, provenance?.licence].filter(Boolean).join('\n');
  return node('li', {}, button({class: `tile box ${modality}`, title}, choose,
    picture ? node('img', {src: picture, alt: text ? '' : label, loading: 'lazy'}) : '',
    text ? node('span', {class: picture ? 'caption' : 'excerpt'}, text) : '',
    node('span', {class: 'line'}, badge ? node('span', {class: 'badge'}, name) : '',
      figure ? node('span', {class: 'figure'}, figure) : '')));
};

// choose: gets the id of the item.
export const tiles = (items, choose) => {
  const mixed = new Set(items.map(({name}) => name)).size > 1;
  return node('ol', {class: 'tiles'}, ...items.map(item => itemTile(item, () => choose(item.id), mixed)));
};

// Each code is a button that opens all items whose IDs begin with the codes up to it.
export const prefixes = (codes, openCode) => node('p', {class: 'codes', role: 'group', 'aria-label': 'ID'}, ...codes.flatMap((code, level) => {
  const prefix = codes.slice(0, level + 1), hint = `Click to see all items whose ID begins with ${prefix.join(' · ')}.`;
  return [node('span', {class: 'level'}, button({class: 'code', 'data-prefix': prefix.join('.'), 'data-hint': hint},
    () => openCode(prefix.join('.')), String(code)), level + 1 < codes.length ? ' ·' : ''), ' '];
}));

// What its codes mean, as far as that is known.
const meanings = codes => {
  const named = codes.map((_, level) => codes.slice(0, level + 1)).filter(prefix => nameOf(prefix.join('.')));
  return named.length ? [folded('What its codes mean', node('ul', {}, ...named.map(prefix => node('li', {},
    node('b', {}, prefix.join(' · ')), ` ${nameOf(prefix.join('.'))}`))))] : [];
};

// Credit, license and origin, which becomes a link where it is an address.
const provenanceList = ({credit, licence, origin, link}) => node('dl', {class: 'facts'},
  ...[['Credit', credit], ['License', licence], ['Origin', origin]].filter(([, value]) => value).map(([name, value]) =>
    node('div', {}, node('dt', {}, name), node('dd', {}, name === 'Origin' && link
      ? node('a', {href: link, target: '_blank', rel: 'noopener noreferrer'}, value) : value))));

const factName = name => name.replaceAll('_', ' ').replace(/(\D)(\d+)$/, '$1 $2');    // color2 -> color 2

// open: what a click on a neighbour does, with its id.
export const itemCard = (item, {open, page}) => {
  const about = node('div', {class: 'facts-of'},
    node('p', {class: 'which'}, node('span', {class: `badge ${item.modality}`}, item.name), ` ${item.id}`));
  if (item.text) about.append(node('p', {class: 'words'}, item.text));
  about.append(prefixes(item.codes, page.openCode), ...meanings(item.codes));
  if (item.facts.length) about.append(node('dl', {class: 'facts'},
    ...item.facts.map(([name, value]) => node('div', {}, node('dt', {}, factName(name)), node('dd', {}, value)))));
  if (item.provenance) about.append(provenanceList(item.provenance));
  about.append(node('p', {class: 'actions'}, button({class: 'plain use'}, () => page.ask({item: item.id}), 'Use as query'),
    button({class: 'plain'}, () => page.open('codes', {play: 'guess', guess: item.id}), 'Guess it from its codes')));
  const parts = [node('div', {class: 'whole'},
    ...item.picture ? [node('img', {src: item.picture, alt: item.text ? '' : item.label})] : [], about)];
  if (item.neighbours.length) parts.push(
    node('h3', {}, 'Most similar', node('span', {class: 'label'},
      item.exact ? ' among all items, with their similarity (cosine)' : ' among items with similar IDs, with their similarity (cosine)')),
    node('ol', {class: 'neighbours'}, ...item.neighbours.map(near => itemTile(near, () => open(near.id)))));
  return node('article', {class: `itemcard box ${item.modality}`, 'aria-label': `Item ${item.label}`, 'data-announced': `Item ${item.label}`}, ...parts);
};

// The card of an item in its place; above: what stands before it.
export const openCard = async (place, id, page, above = []) => {
  try {
    const item = await page.get(`items/${encodeURIComponent(id)}`);
    replace(place, [...above, itemCard(item, {open: next => openCard(place, next, page, above), page})]);
    place.scrollIntoView({block: 'nearest', behavior: 'smooth'});
  } catch (error) { page.fail(error); }
};

// A small item, as in a blend or on the tour.
export const smallItem = ({name, modality, text, label, picture, provenance}, chosen) => node('li',
  {class: `small ${modality}${chosen ? ' chosen' : ''}`},
  picture ? node('img', {src: picture, alt: text || label}) : node('p', {class: 'excerpt'}, text),
  node('span', {class: 'label'}, name), ...creditLine(provenance));
