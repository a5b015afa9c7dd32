// The parts of an open code: what it is, the codes that follow, words, typical items and all items.
import {
  button, copyButton, counted, dataTables, folded, node, pager, scrollRegion, tableOf, written,
} from '../page/nodes.js';
import {tiles} from '../page/items.js';

const WAYS = {
  parent: ['↑', 'Parent'], previous: ['←', 'Code before'],
  following: ['→', 'Code after'], child: ['↓', 'Largest part'],
};
const KEYS = {
  ArrowUp: 'parent', ArrowLeft: 'previous', ArrowRight: 'following', ArrowDown: 'child',
};
const spoken = key => key.replaceAll('.', ' · ');
const meter = (attributes, share) => {
  const made = node('i', attributes);
  made.style.width = `${100 * Math.min(share, 1)}%`;
  return made;
};

const note = ({key, typed, label, items}) => {
  const link = new URL(location.pathname, location.origin);
  link.search = new URLSearchParams({tab: 'codes', code: key});
  const text = node('textarea', {rows: 3, 'aria-label': 'Note'});
  text.value = `${typed}${label && `: ${label}`} (${items})\n${link}`;
  return folded('A note to copy', text, copyButton(text, 'note'));
};

// isNew: whether another code was open before, so that this one is announced.
export const summary = (data, page, open, isNew) => {
  const {crumbs, items, empty, label, checked, mixed, modalities, around, key, typed} = data;
  const crumb = ({name, key, open: any}, place) => {
    const current = place === crumbs.length - 1 ? {'aria-current': 'true'} : {};
    return node('li', {},
      any ? name : button({'data-prefix': key, ...current}, () => open(key), name));
  };
  const way = ([name, [sign, words]]) => {
    const to = around[name], said = to ? `${words}, ${spoken(to)}` : words;
    const made = button({
      class: 'choice', 'aria-label': said, title: `${words} (${sign})`, 'data-prefix': to ?? '',
    }, () => open(to), sign);
    made.disabled = to === null;
    return made;
  };
  const about = mixed ? `Mixed: ${checked}.` : `The name ${checked} of the items looked at.`;
  const kinds = modalities.map(({name, modality, items: held}) =>
    node('span', {class: `target ${modality}`}, `${name} ${held}`));
  const bar = modalities.map(({modality, share}) => meter({class: modality}, share));
  const change = () => page.address.set({play: 'change', level: String(crumbs.length - 2)});
  const box = node('section', {
    class: 'codes-summary box', tabindex: '0',
    'aria-label': `Code ${typed || 'all'}; arrow keys go to the codes around it`,
  },
  node('div', {class: 'answer-line'},
    node('nav', {'aria-label': 'Codes from the first level'},
      node('ol', {class: 'crumbs'}, ...crumbs.map(crumb))),
    node('span', {class: 'choices'}, ...Object.entries(WAYS).map(way))),
  node('h2', isNew ? {'data-announced': ''} : {}, empty ? 'Nothing matches' : items,
    label ? ` · ${label}` : ''),
  ...checked ? [node('p', {class: 'label'}, about)] : [],
  node('p', {class: 'sentence'}, data.introduction || data.sentences.join(' ')),
  ...modalities.length < 2 ? [] : [
    node('p', {class: 'targets'}, ...kinds),
    node('div', {class: 'bar', 'aria-hidden': 'true'}, ...bar)],
  ...key ? [node('p', {class: 'choices'},
    button({class: 'link'}, () => page.openMap({code: key}), 'Show on the map'),
    ...key.includes('*') ? [] : [button({class: 'link'}, change, 'Change a code')],
    note(data))] : []);
  box.addEventListener('keydown', event => {
    const to = around[KEYS[event.key]];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (to !== null) open(to);
  });
  return box;
};

export const nextCodes = ({title, all, codes}, page, open) => {
  const card = ({key, name, items, share, label, mixed, one, picture}) => {
    const number = counted(items, 'item'), words = label || one;
    const shown = picture
      ? [node('img', {src: page.picture(picture), alt: '', loading: 'lazy'})] : [];
    return node('li', {}, button(
      {class: 'code-card box', 'data-key': key, 'data-prefix': key}, () => open(key), ...shown,
      node('span', {class: `words${mixed ? ' mixed' : one ? ' item' : ''}`}, words || name),
      node('span', {class: 'label'}, words ? `${name} · ${number}` : number),
      meter({class: 'under', 'aria-hidden': 'true'}, Math.max(0.02, share))));
  };
  const most = codes.length < all ? `the largest ${codes.length} of ` : '';
  return node('section', {'aria-label': title},
    node('h3', {}, title, node('span', {class: 'label'}, ` ${most}${written(all)}`)),
    node('ol', {class: 'code-cards'}, ...codes.map(card)));
};

export const meaning = ({words, note: said, factors}) => {
  const word = ({word, figure, share}) => node('li', {}, node('span', {class: 'name'}, word),
    node('span', {class: 'meter', 'aria-hidden': 'true'}, meter({}, share)),
    node('span', {class: 'figure'}, figure));
  const figure = text => node('td', {class: 'figure'}, text);
  const factor = ({name, figure: own, siblings_figure: others}) =>
    node('tr', {}, node('th', {scope: 'row'}, name), figure(own), figure(others));
  const columns = ['property', 'here', 'in the codes beside it'];
  return node('section', {class: 'codes-meaning', id: 'codes-meaning'}, node('h3', {}, 'Words'),
    ...words.length ? [node('ol', {class: 'word-list'}, ...words.map(word)),
      node('p', {class: 'note'}, said)] : [node('p', {class: 'note'}, 'No word stands out.')],
    ...factors.length ? [node('h3', {}, 'What its items are'), scrollRegion('What its items are',
      'scroll', tableOf(columns, factors.map(factor)))] : []);
};

const heading = (title, said) =>
  node('h3', {}, title, node('span', {class: 'label'}, said ? ` ${said}` : ''));

export const group = ({title, note: said, tiles: found}, openItem) =>
  node('section', {}, heading(title, said), tiles(found, openItem));

// turn: gets the changes of the address that show other items.
export const items = ({tiles: found, note: said, filters, kind, page, pages}, openItem, turn) => {
  const filter = ({name, modality, items: held, chosen}) => button(
    {class: `choice ${modality}`, 'aria-pressed': String(chosen)},
    () => turn({only: modality, page: ''}), `${name} ${held}`);
  return node('section', {id: 'codes-items'}, heading('Items', said),
    ...filters.length ? [node('div', {class: 'choices', role: 'group', 'aria-label': 'Kind'},
      ...filters.map(filter))] : [],
    tiles(found, openItem), ...pager(page, pages, to => turn({only: kind, page: to || ''})));
};

export const health = page => {
  const made = folded('How well each level is used');
  made.addEventListener('toggle', async () => {
    if (!made.open || made.children.length > 1) return;
    try {
      made.append(dataTables((await page.get('codes/health')).tables));
    } catch (error) {
      page.fail(error);
    }
  });
  return made;
};
