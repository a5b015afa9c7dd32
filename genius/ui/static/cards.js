const LONG = 260;    // characters; longer texts fold

const written = text => {
  const shown = node('p', {class: 'words'}, text);
  if (text.length <= LONG) return [shown];
  shown.classList.add('folded');
  const more = node('button', {type: 'button', class: 'more', 'aria-expanded': 'false'}, 'Show all');
  more.addEventListener('click', () => {
    const folded = shown.classList.toggle('folded');
    more.textContent = folded ? 'Show all' : 'Show less';
    more.setAttribute('aria-expanded', String(!folded));
  });
  return [shown, more];
};

const moved = ({rank, generated_rank}) => {
  const direction = generated_rank > rank ? 'up' : generated_rank < rank ? 'down' : 'same';
  const label = `generated rank ${generated_rank}, re-ranked rank ${rank}`;
  return node('span', {class: `moved ${direction}`, title: label, role: 'img', 'aria-label': label},
    `${generated_rank} → ${rank}`);
};

const card = label => data => {
  const head = node('div', {class: 'head'}, node('span', {class: 'rank', title: 'rank'}, String(data.rank)));
  if (data.generated_rank !== null) head.append(moved(data));
  head.append(node('span', {class: `badge ${data.kind}`}, data.name));
  const body = node('div', {class: 'body'});
  if (data.picture) body.append(node('img', {src: data.picture, alt: data.text || `Picture ${data.id}`}));
  if (data.text) body.append(...written(data.text));
  return node('li', {class: `card ${data.kind}`}, head, body,
    node('div', {class: 'foot'},
      node('dl', {},
        node('div', {}, node('dt', {}, 'cosine'), node('dd', {}, data.cosine)),
        node('div', {}, node('dt', {}, label), node('dd', {}, data.score))),
      chips(data),
      node('span', {class: 'item'}, `item ${data.id}`)));
};

const list = ({label, cards}) => cards.length
  ? node('ol', {class: 'cards'}, ...cards.map(card(label)))
  : node('div', {class: 'empty'},
    node('h2', {}, 'Nothing found'),
    node('p', {}, 'No generated ID leads to an item. Try a larger beam size or other words.'));

// The results of one instruction among several.
const column = ({instruction, label, targets, best, found}) => node('section', {class: 'instruction'},
  node('div', {class: 'summary'},
    node('h2', {}, instruction), ...aims(label, targets),
    node('p', {class: 'best'}, node('span', {class: 'label'}, 'best ID '), chips(best))),
  list(found));

const draw = value => {
  if (!value) return [node('div', {class: 'empty start'},
    node('h2', {}, 'Nothing searched yet'),
    node('p', {class: 'ask'}, 'Type a description, add a picture, or both, then press Enter. '
      + 'The instruction says whether you want an image, a text or both.'),
    node('p', {class: 'how'}, 'The model writes the IDs of what it expects, code by code: first the '
      + 'modality, then from coarse to fine. Each ID leads to its items, and their embeddings put '
      + 'these in order.'),
    node('p', {}, chips({codes: ['modality', 'coarse', 'finer', '…'], shared: 0})))];
  if (value.columns) return [node('div', {class: 'beside'}, ...value.columns.map(column))];
  return [list(value)];
};
