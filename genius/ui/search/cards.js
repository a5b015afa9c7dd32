const LONG = 260;    // characters; longer texts fold
let least = 0;       // results of a smaller cosine are dimmed; it stays from search to search

const written = text => {
  const shown = node('p', {class: 'words'}, text);
  if (text.length <= LONG) return [shown];
  shown.classList.add('folded');
  const toggle = more => {
    const folded = shown.classList.toggle('folded');
    more.textContent = folded ? 'Show all' : 'Show less';
    more.setAttribute('aria-expanded', String(!folded));
  };
  return [shown, button({class: 'more', 'aria-expanded': 'false'}, toggle, 'Show all')];
};

const moved = ({rank, generated_rank}, {by}) => {
  const direction = generated_rank > rank ? 'up' : generated_rank < rank ? 'down' : 'same';
  const label = `rank ${generated_rank} by ${by}, rank ${rank} after re-ranking by the item itself`;
  return node('span', {class: `moved ${direction}`, 'data-hint': label, role: 'img', 'aria-label': label},
    `${generated_rank} → ${rank}`);
};

const action = (name, title, onClick) => button({title}, onClick, name);

const actions = (data, column) => node('div', {class: 'actions'},
  action('Why?', 'Explain how this result was found', clicked => {
    const chosen = clicked.closest('.card');
    element.querySelectorAll('.card').forEach(card => card.classList.toggle('chosen', card === chosen));
    emit('why', {column, id: data.id});
    genius.reveal(document.getElementById('why-open'));
  }),
  action('More like this', 'Search with this item as the query', () => emit('use_as_query', {id: data.id})),
  action('Blend', 'Mix the query with this result, step by step', clicked => {
    element.querySelector('.blends')?.classList.remove('blends');
    clicked.classList.add('blends');    // the focus returns there (blend.js)
    emit('blend', {column, id: data.id});
  }));

// A result's picture becomes the query's by its button, or dragged there.
const ITEM = 'application/x-genius-item';
for (const type of ['dragover', 'dragleave', 'drop']) document.addEventListener(type, event => {
  const target = event.target.closest?.('#picture');
  if (!target || !event.dataTransfer.types.includes(ITEM)) return;
  event.preventDefault();
  event.stopPropagation();
  target.classList.toggle('receiving', type === 'dragover');
  if (type === 'drop') emit('use_picture', {id: event.dataTransfer.getData(ITEM)});
}, true);

const picture = data => {
  const image = node('img', {src: data.picture, alt: data.text ? '' : data.label, draggable: 'true'});
  image.addEventListener('dragstart', ({dataTransfer}) => dataTransfer.setData(ITEM, data.id));
  return node('div', {class: 'shown'}, image, action('Use picture',
    'Search with this picture; your words and instruction stay. You can also drag it to the query.',
    () => emit('use_picture', {id: data.id})));
};

const SIMILARITY = 'How alike query and item are: the cosine of their embeddings, the numbers that stand for them; at most 1.';
const fact = (name, value, hint) => node('div', {'data-hint': hint}, node('dt', {}, name), node('dd', {}, value));

// What a mouse or a finger learns at each card.
const meanings = ({by, score, score_name: scoreName}) => folded('What these numbers mean', node('ul', {},
  ...[['similarity', SIMILARITY], [scoreName, score], ['3 → 1', `Rank 3 by ${by}, rank 1 after re-ranking by the item itself.`],
    ['codes', 'The ID of an item. Marked first codes are those of the query’s own ID.']].map(([name, meaning]) =>
    node('li', {}, node('b', {}, name), ` ${meaning}`))));

const card = ({query_row, hints}, column) => data => {
  const head = node('div', {class: 'head'}, node('span', {class: 'rank'}, String(data.rank)));
  if (data.generated_rank !== null) head.append(moved(data, hints));
  head.append(node('span', {class: `badge ${data.modality}`}, data.name));
  const body = node('div', {class: 'body'});
  if (data.picture) body.append(picture(data));
  if (data.text) body.append(...written(data.text));
  const made = node('li', {class: `card ${data.modality}`}, head, body,
    node('div', {class: 'foot'},
      node('dl', {},
        fact('similarity', data.cosine, SIMILARITY),
        fact(hints.score_name, data.score, hints.score)),
      chips(data),
      ...creditLine(data.provenance),
      node('span', {class: 'item', 'data-hint': 'The item’s number in the collection'}, `item ${data.id}${data.row === query_row ? ' (your query)' : ''}`),
      actions(data, column)));
  made.dataset.likeness = data.likeness;
  return made;
};

const list = (found, column) => found.cards.length
  ? node('ol', {class: 'cards'}, ...found.cards.map(card(found, column)))
  : node('div', {class: 'empty'},
    node('h2', {}, 'Nothing found'),
    node('p', {}, 'Nothing fits this search. Try other words or another kind of result.'));

// The results of one instruction among several.
const column = (found, place) => node('section', {class: 'instruction'},
  node('div', {class: 'summary'},
    node('h2', {}, found.instruction), ...firstCodes(found.aim),
    node('p', {class: 'best'}, node('span', {class: 'label'}, 'best ID '), chips(found.best))),
  list(found, place));

// A slider that dims what is less alike, at once and without another search.
const threshold = shown => {
  const cards = shown.flatMap(part => [...part.querySelectorAll('.card')]);
  const slider = node('input', {id: 'least', type: 'range', min: 0, max: 1, step: .01, value: least});
  const reached = node('output', {for: 'least'});
  const dim = () => {
    least = Number(slider.value);
    cards.forEach(one => one.classList.toggle('weak', one.dataset.likeness < least));
    const strong = cards.filter(one => !one.classList.contains('weak')).length;
    reached.textContent = !least ? 'off'
      : `${least.toFixed(2)}: ${strong || 'none'} of ${cards.length} ${strong === 1 ? 'reaches' : 'reach'} it`;
  };
  slider.addEventListener('input', dim);
  dim();
  return node('div', {class: 'threshold'}, node('label', {for: 'least'}, 'Dim below similarity'), slider, reached);
};

const draw = value => {
  if (!value) return [node('div', {class: 'empty start'},
    node('h2', {}, 'No search yet'),
    node('p', {class: 'ask'}, 'Upload a picture, type a description, or both, then press Enter. '
      + 'The instruction says whether you want an image, a text or both.'),
    node('p', {class: 'how'}, 'The model generates the IDs of the items it expects, code by code: first the '
      + 'modality (image, text or both), then from coarse to fine. Each ID leads to its items, which are then ordered by how well they fit your query.'),
    node('p', {}, node('span', {class: 'codes'}, ...['modality', 'coarse', 'finer', '…'].flatMap((code, level) =>
      [level ? ' · ' : '', node('span', {class: 'code'}, code)]))))];
  const {columns, exports} = value;
  const shown = columns.length > 1 ? [node('div', {class: 'beside'}, ...columns.map(column))] : [list(columns[0], 0)];
  shown[0].querySelector('.card')?.classList.add('chosen');
  if (!exports.length) return shown;
  return [node('div', {class: 'tools'}, threshold(shown),
    node('div', {class: 'actions'}, node('span', {class: 'label'}, 'Save as'), ...exports.map(saveButton),
      action('HTML', 'Save as one page with all pictures, which opens without this server',
        () => emit('save_page', {})))), meanings(columns[0].hints), ...shown];
};
