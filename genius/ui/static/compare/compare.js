// Compare: one query, answered by writing IDs and by comparing with every item.
import {openCard} from '../page/items.js';
import {button, creditLine, node, replace, scrollRegion, tableOf} from '../page/nodes.js';

const QUERY = ['q', 'item', 'picture', 'example', 'upload'];
const SEARCH = [...QUERY, 'instruction', 'reading', 'part', 'kind'];    // of an address
const section = (title, id, ...children) => node('section', {id}, node('h2', {}, title), ...children);

// One row per system: its time, its overlap with the others, what only it found.
const agreementTable = ({systems, agreement, encoding}) => {
  const columns = ['Method', 'Time', ...systems.map(system => system.name), 'Only here'];
  const shared = pair => pair ? node('td', {class: 'shared', style: {'--share': pair.share}}, node('b', {}, pair.overlap), ` ${pair.shift}`) : node('td', {class: 'itself'}, '–');
  const rows = systems.map((system, place) => node('tr', {}, node('th', {scope: 'row'}, system.name),
    node('td', {class: 'time'}, node('b', {}, system.time), node('span', {class: 'track', 'aria-hidden': 'true'}, node('i', {style: {width: `${100 * system.share}%`}})), node('span', {class: 'parts'}, system.stages)),
    ...agreement[place].map(shared), node('td', {}, String(system.only))));
  return section('Time and agreement', 'compare-times', node('p', {class: 'note'}, `Time is that of the search, the median of several. ${encoding}`),
    node('p', {class: 'note'}, 'A percentage is the share of results that two ways have in common; ± by how many ranks these differ.'),
    scrollRegion('Time and agreement', 'scroll', tableOf(columns, rows)));
};
const rankChange = (rank, other, name) => {
  const [direction, arrow] = other > rank ? ['up', '↑'] : ['down', '↓'];
  const [tone, mark, words] = other === 0 ? ['new', 'new', `not among the results of ${name}`]
    : other === rank ? ['same', '=', `the same rank by ${name}`] : [direction, `${arrow}${Math.abs(other - rank)}`, `rank ${other} by ${name}`];
  return node('span', {class: `moved ${tone}`, 'data-hint': words, role: 'img', 'aria-label': words}, mark);
};
// Marks the same item in all columns while it is pointed at or has the focus, or when it was picked last.
const markItem = (lists, events, name) => events.forEach(event => lists.addEventListener(event, ({target}) => {
  const item = target.closest('.compare-result')?.dataset.item;
  for (const other of lists.querySelectorAll('.compare-result')) other.classList.toggle(name, other.dataset.item === item);
}));
// ways: which are shown.
const lists = ({systems, items, columns}, reference, open, ways) => {
  const result = (item, place, cosine, rank, marks) => node('li', {}, button({class: `compare-result box ${item.modality}`, 'data-item': place}, () => open(item.id),
    node('span', {class: 'rank'}, String(rank)), ...item.picture ? [node('img', {src: item.picture, alt: '', loading: 'lazy'})] : [],
    node('span', {class: 'what'}, node('span', {class: 'words'}, item.text || item.label),
      node('span', {class: 'facts'}, node('span', {class: `badge ${item.modality}`}, item.name), node('span', {class: 'cosine', 'data-hint': 'similarity to the query (cosine of the embeddings)'}, cosine)),
      node('span', {class: 'facts'}, ...marks), ...creditLine(item.provenance))));
  const column = (system, number) => node('section', {class: 'system'}, node('h3', {}, system.name),
    node('p', {class: 'how'}, node('b', {}, system.time), ` ${system.how}`),
    node('ol', {}, ...columns[number].map(({item, cosine}, place) => {
      const {ranks} = items[item];
      const marks = ranks.filter(rank => rank).length === 1 ? [node('span', {class: 'only'}, 'only here')]
        : number === reference ? [] : [rankChange(place + 1, ranks[reference], systems[reference].name)];
      return result(items[item], item, cosine, place + 1, marks);
    })), ...columns[number].length ? [] : [node('p', {class: 'how'}, 'Nothing found.')]);
  const made = scrollRegion('Results side by side', `systems${ways.length === 2 ? ' two' : ''}`, ...ways.map(way => column(systems[way], way)));
  markItem(made, ['mouseover', 'focusin'], 'same-item');
  markItem(made, ['click'], 'picked');
  return made;
};

export const mount = (root, page) => {
  const panel = node('div', {id: 'compare'}), card = node('div', {id: 'compare-card'});
  const box = page.queryBox({id: 'compare-picture', textId: 'compare-text', partId: 'compare-part', page, submit: () => submit(), change: what => what === 'part' && submit()});
  const last = button({id: 'compare-last', class: 'plain'}, () => compare(lastSearch), 'Compare my last search');
  let lastSearch = null;
  const k = node('input', {id: 'compare-k', type: 'number', min: 1, max: 50, value: 10}), beams = node('input', {id: 'compare-beams', type: 'number', min: 1, max: page.run.limits.beams, value: page.run.settings.beams});
  const weight = node('input', {type: 'number', min: 0, max: 1, step: .05, value: page.run.settings.weight}), hnsw = node('input', {id: 'compare-hnsw', type: 'checkbox'});
  const kind = node('select', {id: 'compare-target'}, ...page.run.targets.map(({name, value}) => node('option', {value}, name)));
  const hint = node('span', {class: 'note'});
  root.append(node('p', {class: 'introduction'}, 'The same question, answered by writing IDs and by comparing with every item.'),
    node('form', {id: 'compare-ask'}, box.field, box.text, button({id: 'compare-go', class: 'primary'}, () => submit(), 'Compare'), last), box.part,
    node('details', {id: 'compare-settings'}, node('summary', {}, 'Settings'), node('div', {class: 'fields'},
      node('label', {}, 'Kind of result ', kind), node('label', {}, 'Results per method ', k), node('label', {}, 'Beam size ', beams),
      ...page.run.has_codewords ? [node('label', {}, 'Decoder weight ', weight)] : [], node('label', {}, hnsw, ' Dense search along a graph (faiss HNSW) ', hint))),
    node('div', {id: 'compare-results'}, panel, card));
  root.querySelector('form').addEventListener('submit', event => event.preventDefault());
  let version = 0, asked = '', drawn = null, touring = false;

  const openItem = id => openCard(card, id, page);
  // The tour tells of two ways alone.
  const draw = value => {
    if (!value) return [node('div', {class: 'empty'}, node('h2', {}, 'Nothing compared yet'),
      node('p', {}, 'Ask with a picture, a text or both, or use your last search: the results appear side by side.'))];
    const ways = touring ? [0, value.reference] : [...value.systems.keys()];
    let shown = lists(value, value.reference, openItem, ways);
    const choice = node('select', {id: 'compare-reference'}, ...value.systems.map((system, place) =>
      node('option', place === value.reference ? {value: place, selected: ''} : {value: place}, system.name)));
    choice.addEventListener('change', () => {
      const next = lists(value, Number(choice.value), openItem, ways);
      shown.replaceWith(next);
      shown = next;
    });
    return [node('div', {class: 'comparison'}, node('p', {class: 'sentence box', 'data-announced': ''}, value.sentence),
      agreementTable(value), section('Side by side', 'compare-side', node('p', {class: 'note'},
        node('label', {for: 'compare-reference'}, 'Compare ranks with those of '), choice,
        '. ↑2: two ranks better than there; new: not found there. The number is the similarity to the query. '
        + 'Click an item to see its card and to mark it in the other columns.'), shown))];
  };
  const compare = async search => {
    const mine = version += 1;
    asked = JSON.stringify(search);
    panel.classList.add('pending');
    try {
      const value = await page.call('compare', {search, k: Number(k.value), beams: Number(beams.value), hnsw: hnsw.checked, weight: Number(weight.value)},
        {progress: ({words}) => words && mine === version && replace(panel, [node('p', {class: 'empty', 'data-announced': ''}, words)])});
      if (mine !== version) return;
      page.quiet();
      drawn = value;
      replace(panel, draw(drawn));
      replace(card, []);
    } catch (error) {
      page.fail(error);
      if (mine === version) replace(panel, draw(drawn));
    } finally { if (mine === version) panel.classList.remove('pending'); }
  };
  const submit = async () => {
    await box.ready();
    const {picture} = box, q = box.value.trim();
    if (!q && !picture) return page.fail(new Error('Type a description, add a picture, or both.'));
    await compare({...q ? {q} : {}, ...picture?.upload ? {upload: picture.upload, ...picture.part ? {part: picture.part} : {}} : picture?.item ? {picture: picture.item} : {},
      ...kind.value === 'any' ? {} : {kind: kind.value}});
  };
  replace(panel, draw(null));
  return {
    take: box.take,
    async update(given) {
      const {hnsw: usual, can, note} = await page.get('compare');
      if (!hint.textContent) Object.assign(hnsw, {checked: usual, disabled: !can});
      hint.textContent = note;
      // The search that the address names comes first; the tour compares an example of its own.
      const search = Object.fromEntries(SEARCH.filter(name => given[name]).map(name => [name, given[name]]));
      lastSearch = QUERY.some(name => search[name]) ? search : page.last?.search ?? null;
      last.disabled = !lastSearch;
      const title = page.last?.title ?? search.q;
      last.textContent = `Compare my last search${lastSearch && title ? `: ${title}` : ''}`;
      const tour = Boolean(given.tour && given.example);
      if (tour !== touring) {
        touring = tour;
        replace(panel, draw(drawn));
      }
      if (!lastSearch || (tour ? asked === JSON.stringify(lastSearch) : drawn)) return;
      if (tour) {
        const {text, picture} = page.run.examples[Number(given.example)] ?? {};
        if (!picture) box.value = text ?? '';
      }
      await compare(lastSearch);
    },
  };
};
