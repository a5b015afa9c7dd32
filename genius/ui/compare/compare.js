const section = (title, ...children) => node('section', {}, node('h2', {}, title), ...children);

// One row per system: its time, its overlap with the others, what only it found.
const agreementTable = ({systems, agreement, encoding}) => {
  const columns = ['Method', 'Time', ...systems.map(system => system.name), 'Only here'];
  const shared = pair => pair
    ? node('td', {class: 'shared', style: `--share: ${pair.share}`}, node('b', {}, pair.overlap), ` ${pair.shift}`)
    : node('td', {class: 'itself'}, '–');
  const rows = systems.map((system, place) => node('tr', {},
    node('th', {scope: 'row'}, system.name),
    node('td', {class: 'time'}, node('b', {}, system.time), node('span', {class: 'track', 'aria-hidden': 'true'},
      node('i', {style: `width: ${100 * system.share}%`})), node('span', {class: 'parts'}, system.stages)),
    ...agreement[place].map(shared),
    node('td', {}, String(system.only))));
  return section('Time and agreement',
    node('p', {class: 'note'}, `Time is that of the search, the median of several. ${encoding}`),
    node('p', {class: 'note'}, 'A percentage is the share of results that two ways have in common; ± by how many ranks these differ.'),
    scrollRegion('Time and agreement', 'scroll', tableOf(columns, rows)));
};

const rankChange = (rank, other, name) => {
  const [direction, arrow] = other > rank ? ['up', '↑'] : ['down', '↓'];
  const [tone, mark, words] = other === 0 ? ['new', 'new', `not among the results of ${name}`]
    : other === rank ? ['same', '=', `the same rank by ${name}`]
      : [direction, `${arrow}${Math.abs(other - rank)}`, `rank ${other} by ${name}`];
  return node('span', {class: `moved ${tone}`, 'data-hint': words, role: 'img', 'aria-label': words}, mark);
};

const result = (item, place, cosine, rank, marks) => node('li', {},
  button({class: `compare-result box ${item.modality}`, 'data-item': place}, () => emit('select', {id: item.id}),
    node('span', {class: 'rank'}, String(rank)),
    ...item.picture ? [node('img', {src: item.picture, alt: ''})] : [],
    node('span', {class: 'what'}, node('span', {class: 'words'}, item.text || item.label),
      node('span', {class: 'facts'}, node('span', {class: `badge ${item.modality}`}, item.name),
        node('span', {class: 'cosine', 'data-hint': 'similarity to the query (cosine of the embeddings)'}, cosine)),
      node('span', {class: 'facts'}, ...marks), ...creditLine(item.provenance))));

// Marks the same item in all columns while it is pointed at or has the focus, or when it was picked last.
const markItem = (lists, events, name) => events.forEach(event => lists.addEventListener(event, ({target}) => {
  const item = target.closest('.compare-result')?.dataset.item;
  for (const other of lists.querySelectorAll('.compare-result')) other.classList.toggle(name, other.dataset.item === item);
}));

const lists = ({systems, items, columns}, reference) => {
  const column = (system, number) => node('section', {class: 'system'},
    node('h3', {}, system.name), node('p', {class: 'how'}, system.how),
    node('ol', {}, ...columns[number].map(({item, cosine}, place) => {
      const {ranks} = items[item];
      const marks = ranks.filter(rank => rank).length === 1 ? [node('span', {class: 'only'}, 'only here')]
        : number === reference ? [] : [rankChange(place + 1, ranks[reference], systems[reference].name)];
      return result(items[item], item, cosine, place + 1, marks);
    })),
    ...columns[number].length ? [] : [node('p', {class: 'how'}, 'Nothing found.')]);
  const made = scrollRegion('Results side by side', 'systems',
    ...systems.map(column));
  markItem(made, ['mouseover', 'focusin'], 'same-item');
  markItem(made, ['click'], 'picked');
  return made;
};

const draw = value => {
  if (!value) return [node('div', {class: 'empty'},
    node('h2', {}, 'Nothing compared yet'),
    node('p', {}, 'Ask with a picture, a text or both, or use your last search: the results appear side by side.'))];
  let shown = lists(value, value.reference);
  const choice = node('select', {id: 'compare-reference'}, ...value.systems.map((system, place) =>
    node('option', place === value.reference ? {value: place, selected: ''} : {value: place}, system.name)));
  choice.addEventListener('change', () => {
    const next = lists(value, Number(choice.value));
    shown.replaceWith(next);
    shown = next;
  });
  return [node('div', {class: 'comparison'},
    node('p', {class: 'sentence box', 'data-announced': ''}, value.sentence), agreementTable(value),
    section('Side by side', node('p', {class: 'note'}, node('label', {for: 'compare-reference'},
      'Compare ranks with those of '), choice, '. ↑2: two ranks better than there; new: not found there. The number '
      + 'is the similarity to the query. Click an item to see its card and to mark it in the other columns.'), shown))];
};
