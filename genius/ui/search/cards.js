const canHover = matchMedia('(hover: hover)').matches;
let least = 0;       // results of a smaller cosine are dimmed; it stays from search to search

const SCORE = 'How probable the decoder finds its ID, as a logarithm; 0 is certain.';
const moved = ({rank, generated_rank}) => {
  const direction = generated_rank > rank ? 'up' : generated_rank < rank ? 'down' : 'same';
  const label = `rank ${generated_rank} by its ID, rank ${rank} after re-ranking by the item itself`;
  return node('span', {class: `moved ${direction}`, 'data-hint': label, role: 'img', 'aria-label': label},
    `${generated_rank} → ${rank}`);
};

// What is done with a result, on its card and in Why: `ask` takes it as a query, or its picture; the events 'why' and 'blend'
// (Gradio looks for these names) go to the server. clicked: the button, to which the focus may return.
const ASKS = {use_as_query: id => ({item: id}), use_picture: id => ({picture: id, keep: true})};
genius.act = (name, id, clicked) => {
  document.querySelectorAll('.acted').forEach(other => other.classList.remove('acted'));
  clicked?.classList.add('acted');
  if (name in ASKS) return genius.send.ask(ASKS[name](id));
  const column = panelData().columns.findIndex(({cards}) => cards.some(card => card.id === id));
  emit(name, {column, id});
};
const ACTIONS = [
  ['Why?', 'Explain how this result was found', 'why'],
  ['Similar', 'Search with this item as the query', 'use_as_query'],
  ['Use', 'Search with this picture; your words and instruction stay. You can also drag it to the query.', 'use_picture'],
];
const act = (name, card, id, clicked) => {
  if (name === 'why') element.querySelectorAll('.card').forEach(other => other.classList.toggle('chosen', other === card));
  genius.act(name, id, clicked);
};

// A result's picture becomes the query's by its button, or dragged there.
const ITEM = 'application/x-genius-item';
for (const type of ['dragover', 'dragleave', 'drop']) document.addEventListener(type, event => {
  const target = event.target.closest?.('#picture');
  if (!target || !event.dataTransfer.types.includes(ITEM)) return;
  event.preventDefault();
  event.stopPropagation();
  target.classList.toggle('receiving', type === 'dragover');
  if (type === 'drop') genius.act('use_picture', event.dataTransfer.getData(ITEM));
}, true);

const picture = ({picture: src, text, title, id}) => {
  const image = node('img', {src, alt: text ? '' : title, draggable: 'true'});
  image.addEventListener('dragstart', ({dataTransfer}) => dataTransfer.setData(ITEM, id));
  return node('div', {class: 'shown'}, image);
};

const SIMILARITY = 'How alike query and item are: the cosine of their embeddings, the numbers that stand for them; at most 1.';
const fact = (name, value, hint) => node('div', {'data-hint': hint}, node('dt', {}, name), node('dd', {}, value));

// What a mouse or a finger learns at each card.
const meanings = () => folded('What these numbers mean', node('ul', {},
  ...[['similarity', SIMILARITY], ['log p', SCORE], ['3 → 1', 'Rank 3 by its ID, rank 1 after re-ranking by the item itself.'],
    ['codes', 'The ID of an item. Marked first codes are those of the query’s own ID.']].map(([name, meaning]) =>
    node('li', {}, node('b', {}, name), ` ${meaning}`))));

// One Tab stop, which opens Why; what a mouse finds beside it is in there, too.
const card = ({query_row}) => data => {
  const {id, rank, title, rest, modality} = data;
  const made = node('li', {class: `card box ${modality}`});
  const open = clicked => act('why', made, id, clicked);
  const words = [...title ? [node('b', {}, title)] : [], ...rest ? [node('span', {class: 'words'}, rest)] : []];
  const actions = ACTIONS.filter(([name]) => name !== 'Use' || data.picture).map(([name, hint, event]) =>
    button({title: hint, tabindex: '-1'}, clicked => act(event, made, id, clicked), name));
  if (data.versions) words.push(node('span', {class: 'versions'}, data.versions));
  made.append(...data.picture ? [picture(data)] : [],
    button({class: 'title', 'aria-label': `Result ${rank}: ${title || rest}`}, open, node('span', {class: 'rank'}, String(rank)), ...words),
    node('div', {class: 'over'}, ...creditLine(data.provenance), node('div', {class: 'actions'}, ...actions)),
    node('div', {class: 'foot expert'},
      node('dl', {},
        fact('similarity', data.cosine, SIMILARITY),
        fact('log p', data.score, SCORE)),
      node('span', {}, node('span', {class: `badge ${modality}`}, data.name), ' ', ...data.generated_rank === null ? [] : [moved(data)]),
      chips(data),
      node('span', {class: 'item', 'data-hint': 'The item’s number in the collection'}, `item ${id}${data.row === query_row ? ' (your query)' : ''}`)));
  Object.assign(made.dataset, {id, likeness: data.likeness});
  made.addEventListener('click', ({target}) => {
    const code = canHover && target.closest('.foot .code');    // a tap tells what it means
    if (code) genius.send.open_code(code.dataset.prefix);
    else target.closest('button, .foot') || open();
  });
  return made;
};

const list = found => {
  if (found.cards.length) return node('ol', {class: 'cards'}, ...found.cards.map(card(found)));
  return node('div', {class: 'empty'}, node('h2', {}, 'Nothing found'),
    node('p', {}, 'Nothing fits this search. Try other words or another kind of result.'));
};

// The results of one instruction among several.
const column = found => node('section', {class: 'instruction'},
  node('div', {class: 'question'}, node('h2', {}, found.instruction), node('div', {class: 'expert'}, ...firstCodes(found.aim),
    node('p', {class: 'best'}, node('span', {class: 'label'}, 'best ID '), chips(found.best)))),
  list(found));

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
    node('p', {}, 'The model writes the ID of what it expects, code by code: first the kind of item (image, text or both), '
      + 'then from coarse to fine. Each ID leads to its items, which are then ordered by how well they fit your query.'))];
  const {columns} = value;
  const shown = columns.length > 1 ? [node('div', {class: 'beside'}, ...columns.map(column))] : [list(columns[0])];
  return [node('div', {class: 'tools expert'}, threshold(shown), meanings()), ...shown];
};
