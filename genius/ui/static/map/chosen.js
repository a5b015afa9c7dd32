// The panel beside the map: what is chosen, with pictures, texts, codes, kinds and ways on; or how
// to read the map.
import {button, counted, node, written} from '../page/nodes.js';
import {tiles} from '../page/items.js';

const KINDS = {image: 'picture', text: 'text', pair: 'pair'};
const link = (act, ...words) => button({class: 'link'}, act, ...words);

// parts: [{label, drop}] of the choice, as chips that are taken away one by one.
export const chosenView = ({found, title, parts, page, open, search, save, all}) => {
  const {kinds, words, codes} = found, number = counted(found.items, 'item');
  const part = ({label, drop}) =>
    button({class: 'choice', 'aria-label': `Without ${label}`}, drop, `${label} ×`);
  const head = [
    node('p', {class: 'label'}, 'Chosen'),
    node('h2', {'data-announced': `${title}: ${number}`}, title, ' ',
      node('span', {class: 'label'}, number)),
    node('p', {class: 'map-parts'}, ...parts.map(part)),
  ];
  const everything = link(all, 'Show everything');
  if (!found.items) {
    return [...head, node('p', {}, 'Nothing has all of this. Take one away.'), everything];
  }
  const toCodes = ({key}) => () => page.openCode(key);
  const code = one => button(
    {class: 'plain', 'data-prefix': one.key, title: `${counted(one.items, 'item')} of these`},
    toCodes(one), node('code', {}, one.pattern), one.label ? ` ${one.label}` : '',
    node('span', {class: 'label'}, ` ${written(one.items)}`));
  const share = ({kind, share}) => {
    const made = node('i', {class: kind});
    made.style.width = `${100 * share}%`;
    return made;
  };
  const word = ({word, items, of}, place) => [place ? ', ' : '', node('span',
    {title: `“${word}” fits ${written(items)} of the ${written(of)} items looked at`},
    `${word} `, node('span', {class: 'label'}, written(items)))];
  const text = ({id, text}) =>
    button({class: 'map-text', title: 'Show this item'}, () => open(id), text);
  return [...head,
    node('p', {class: 'choices'},
      ...codes.slice(0, 1).map(one => link(toCodes(one), 'Open in Codes')),
      link(search, 'Search for these'), link(() => save('csv'), 'CSV'), link(() => save('json'), 'JSON'), everything),
    node('p', {class: 'map-codes'}, ...codes.map(code)),
    node('div', {class: 'map-kinds', 'aria-hidden': 'true'}, ...kinds.map(share)),
    node('p', {class: 'label'},
      kinds.map(({kind, items}) => counted(items, KINDS[kind])).join(' · ')),
    ...words.length ? [node('p', {class: 'map-words'}, ...words.flatMap(word),
      node('span', {class: 'label'}, ` of ${written(words[0].of)}`))] : [],
    node('div', {class: 'map-tiles'}, tiles(found.tiles, open)),
    ...found.texts.map(text),
  ];
};

// depth: number of codes kept; glowing: the title of the last search, whose results glow, or null.
export const explained = ({map, depth, glowing, choose, set, keepResults, hideResults}) => {
  const view = map.views.find(({keep}) => keep === depth) ?? map.views[0];
  const change = ({region, name, share, left, joined}) => node('li', {},
    link(() => choose({region}), name),
    node('span', {class: 'label'}, joined ? ` now among ${joined}` : '',
      left ? `, no longer ${left}` : '', ` (${share} of its neighbours)`));
  const named = map.regions.filter(({tier, name}) => tier === 1 && name);
  const word = named.find(({name}) => name === 'dog')?.name ?? named[0]?.name.split(', ')[0];
  const tries = [
    ...word ? [link(() => choose({words: word}), `Where is “${word}”?`)] : [],
    ...map.views.some(({keep}) => keep === 2)
      ? [link(() => set({keep: 2}), 'What do 2 codes keep?')] : [],
    link(() => set({color: 'kind'}), 'Pictures, texts and pairs apart'),
  ];
  return [
    ...glowing === null ? [] : [node('h3', {}, 'Your last search'),
      node('p', {}, glowing, ': its results glow on the map.'),
      node('p', {}, link(keepResults, 'Keep only these'), ' · ', link(hideResults, 'Hide'))],
    node('h3', {}, 'How to read it'),
    node('p', {}, 'Each point is a picture, a text or a pair. Near means alike. '
      + 'Distances between groups mean nothing.'),
    node('p', {}, 'Choose a region to keep only that. Zoom in and the names get finer.'),
    ...map.added ? [node('p', {},
      `${written(map.added)} items were added since; each lies among those most like it.`)] : [],
    ...view.moved.length ? [node('h3', {}, 'What moved most'),
      node('ul', {class: 'map-moved'}, ...view.moved.slice(0, 6).map(change))]
      : [node('h3', {}, 'Try'), ...tries.map(one => node('p', {}, one))],
  ];
};

export const saving = save => [
  node('h3', {}, 'Picture for a slide'),
  node('p', {}, link(() => save('svg'), 'SVG'), ' · ',
    link(() => save('png'), 'PNG, 3840 × 2160')),
];
