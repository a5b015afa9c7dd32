// The answer: one line that sums it up, and the results as cards.
import {button, chips, creditLine, dotted, firstCodes, folded, menu, node, saveFile} from '../page/nodes.js';

const canHover = matchMedia('(hover: hover)').matches;
const ITEM = 'application/x-genius-item';
const LOG_PROB = 'How probable the decoder finds its ID, as a logarithm; 0 is certain.';
const SIMILARITY = 'How alike query and item are: the cosine of their embeddings, the numbers that stand for them; at most 1.';
let least = 0;       // results of a smaller cosine are dimmed; it stays from search to search

export const summary = (value, {page, search, readAs, changeInstruction}) => {
  const {heading, match, title, provenance, asked, reading, part, aim, sentence, weighed, address, notes = [], stages} = value;
  const numbers = node('input', {type: 'checkbox'});
  numbers.checked = page.isView('numbers');
  numbers.addEventListener('change', () => {
    localStorage['genius-numbers'] = numbers.checked ? '1' : '';
    page.setView('numbers', numbers.checked);
  });
  const saved = form => button({title: form === 'html' ? 'Save as one page with all pictures, which opens without this server' : `Save as ${form.toUpperCase()}`},
    () => page.call('save', {search, form}).then(saveFile).catch(page.fail), form.toUpperCase());
  const line = node('div', {class: 'answer-line'}, node('h2', {'data-announced': sentence}, heading));
  if (match) line.append(node('span', {class: `match ${match.split(' ')[0]}`}, match));
  if (title) line.append(node('span', {class: 'titled'}, title), ...creditLine(provenance));
  if (reading) line.append(node('p', {class: 'asked'}, 'read as ', node('b', {}, reading.name),
    ...reading.left_out ? [` · left out: ${reading.left_out}`] : [], ' · instead: ',
    ...reading.others.flatMap(({reading: name, name: label}, place) => [...place ? [', '] : [],
      button({class: 'link', title: 'Search again for this'}, () => readAs(name), label)])));
  else if (aim) line.append(node('p', {class: 'asked'}, asked ? `asked: “${asked}” ` : 'no instruction ',
    button({class: 'link', title: 'Ask in other words, or for another kind of result'}, changeInstruction, 'change')));
  line.append(node('span', {class: 'ways'}, node('label', {title: 'Scores, codes, probabilities and times'}, numbers, ' Show numbers'),
    menu('Save', {}, saved('csv'), saved('json'), saved('html'), ...address ? [node('p', {class: 'label address'}, address)] : [])));
  const tone = stage => ({'--tone': `hsl(${240 - 50 * stage} 65% 58%)`});    // of the part of a search
  return [node('section', {class: 'summary'}, line,
    ...part ? [node('p', {class: 'marked'}, node('img', {src: part, alt: 'The marked part of your picture'}), 'Only this part of your picture was searched.')] : [],
    ...notes.map(note => node('p', {class: 'far', 'data-announced': ''}, note)),
    node('div', {class: 'expert box'}, ...aim ? firstCodes(aim) : [], node('p', {class: 'sentence'}, sentence),
      node('details', {class: 'times'}, node('summary', {}, 'Where the time went'),
        node('div', {class: 'bar thin', 'aria-hidden': 'true'}, ...stages.map((stage, place) => node('i', {style: {...tone(place), width: `${100 * stage.share}%`}}))),
        node('ul', {'aria-label': 'time per stage'}, ...stages.map((stage, place) => node('li', {style: tone(place)}, `${stage.name} `, node('b', {}, stage.time), ` ${stage.note}.`))),
        ...weighed ? [node('p', {class: 'label'}, weighed)] : [])))];
};

const moved = ({rank, generated_rank}) => {
  const direction = generated_rank > rank ? 'up' : generated_rank < rank ? 'down' : 'same';
  const label = `rank ${generated_rank} by its ID, rank ${rank} after re-ranking by the item itself`;
  return node('span', {class: `moved ${direction}`, 'data-hint': label, role: 'img', 'aria-label': label}, `${generated_rank} → ${rank}`);
};
const pictureOf = ({picture: src, text, title, id}) => {
  const image = node('img', {src, alt: text ? '' : title, draggable: 'true', loading: 'lazy'});
  image.addEventListener('dragstart', ({dataTransfer}) => dataTransfer.setData(ITEM, id));
  return node('div', {class: 'shown'}, image);
};
const fact = (name, value, hint) => node('div', {'data-hint': hint}, node('dt', {}, name), node('dd', {}, value));
const ACTIONS = [
  ['Why?', 'Explain how this result was found', 'why'],
  ['Similar', 'Search with this item as the query', 'similar'],
  ['Use', 'Search with this picture; your words stay. You can also drag it to the query.', 'use'],
];

// One Tab stop, which opens Why; what a mouse finds beside it is in there, too. act: gets what to do, the column and the id.
const card = (data, column, query_row, {act, page}) => {
  const {id, rank, title, rest, modality} = data, made = node('li', {class: `card box ${modality}`});
  const open = () => {
    document.querySelectorAll('#cards .card').forEach(other => other.classList.toggle('chosen', other === made));
    act('why', column, id, made.querySelector('.title'));
  };
  const words = [...title ? [node('b', {}, title)] : [], ...rest ? [node('span', {class: 'words'}, rest)] : []];
  if (data.versions) words.push(' ', node('span', {class: 'versions'}, data.versions));
  const actions = ACTIONS.filter(([name]) => name !== 'Use' || data.picture).map(([name, hint, what]) =>
    button({title: hint, tabindex: '-1'}, clicked => what === 'why' ? open() : act(what, column, id, clicked), name));
  made.append(...data.picture ? [pictureOf(data)] : [],
    button({class: 'title', 'aria-label': `Result ${rank}: ${title || rest}`}, open, node('span', {class: 'rank'}, String(rank)), ...words),
    node('div', {class: 'over'}, ...creditLine(data.provenance), node('div', {class: 'actions'}, ...actions)),
    node('div', {class: 'foot expert'},
      node('dl', {}, fact('similarity', data.cosine, SIMILARITY), fact('log p', data.log_prob, LOG_PROB)),
      node('span', {}, node('span', {class: `badge ${modality}`}, data.name), ' ', ...data.generated_rank === null ? [] : [moved(data)]),
      chips(data), node('span', {class: 'item', 'data-hint': 'The item’s number in the collection'}, `item ${id}${data.row === query_row ? ' (your query)' : ''}`)));
  Object.assign(made.dataset, {id, likeness: data.likeness});
  made.addEventListener('click', ({target}) => {
    const code = canHover && target.closest('.foot .code');    // a tap tells what it means
    if (code) page.openCode(code.dataset.prefix);
    else target.closest('button, .foot') || open();
  });
  return made;
};
const list = (found, column, how) => found.cards.length ? node('ol', {class: 'cards'}, ...found.cards.map(one => card(one, column, found.query_row, how)))
  : node('div', {class: 'empty'}, node('h2', {}, 'Nothing found'), node('p', {}, 'Nothing fits this search. Try other words or another kind of result.'));

// The results of one instruction among several.
const columnOf = how => (found, place) => node('section', {class: 'instruction'},
  node('div', {class: 'question'}, node('h2', {}, found.instruction), node('div', {class: 'expert'}, ...firstCodes(found.aim),
    node('p', {class: 'best'}, node('span', {class: 'label'}, 'best ID '), chips(found.best)))), list(found, place, how));

// A slider that dims what is less alike, at once and without another search.
const threshold = shown => {
  const cards = shown.flatMap(part => [...part.querySelectorAll('.card')]);
  const slider = node('input', {id: 'least', type: 'range', min: 0, max: 1, step: .01, value: least}), reached = node('output', {for: 'least'});
  const dim = () => {
    least = Number(slider.value);
    cards.forEach(one => one.classList.toggle('weak', one.dataset.likeness < least));
    const strong = cards.filter(one => !one.classList.contains('weak')).length;
    reached.textContent = !least ? 'off' : `${least.toFixed(2)}: ${strong || 'none'} of ${cards.length} ${strong === 1 ? 'reaches' : 'reach'} it`;
  };
  slider.addEventListener('input', dim);
  dim();
  return node('div', {class: 'threshold'}, node('label', {for: 'least'}, 'Dim below similarity'), slider, reached);
};
const meanings = () => folded('What these numbers mean', node('ul', {},
  ...[['similarity', SIMILARITY], ['log p', LOG_PROB], ['3 → 1', 'Rank 3 by its ID, rank 1 after re-ranking by the item itself.'],
    ['codes', 'The ID of an item. Marked first codes are those of the query’s own ID.']].map(([name, meaning]) => node('li', {}, node('b', {}, name), ` ${meaning}`))));

export const cards = (columns, how) => {
  const shown = columns.length > 1 ? [node('div', {class: 'beside'}, ...columns.map(columnOf(how)))] : [list(columns[0], 0, how)];
  return [node('div', {class: 'tools expert'}, threshold(shown), meanings()), ...shown];
};
export const start = () => [node('div', {class: 'empty start'}, node('p', {}, 'Every item has an ID of a few codes. Search writes the ID of what you want, '
  + 'then shows what has it.'))];

export const generated = value => {
  if (!value) return [];
  const {lead, columns, meaning, query, rows} = value;
  const row = ({codes, shared, figures}, place) => node('tr', {}, node('td', {class: 'place'}, String(place + 1)), node('td', {}, chips({codes, shared})),
    ...figures.map(figure => node('td', {class: 'figure'}, figure)));
  const table = node('table', {}, node('thead', {}, node('tr', {}, ...columns.map(name => node('th', {scope: 'col'}, name)))), node('tbody', {}, ...rows.map(row)));
  return [node('details', {class: 'all-ids'}, node('summary', {}, `All ${rows.length} generated IDs`), node('div', {class: 'generated'},
    node('p', {}, lead), node('p', {class: 'own'}, 'The query’s own ID:', chips(query)),
    node('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Generated IDs'}, table), ...meaning.map(words => node('p', {class: 'note'}, words))))];
};

const task = ({given, targets}) => node('span', {class: 'task'}, given, node('span', {role: 'img', 'aria-label': 'to'}, ' → '),
  ...dotted(targets.map(({modality, name}) => node('b', {class: modality}, name))));
// The first are cards to begin with, and chips once something was searched, until all are unfolded as cards.
export const examples = (given, page) => {
  if (!given.length) return [];
  const strip = node('section', {class: 'examples', 'aria-label': 'Examples'});
  const unfold = open => {
    strip.classList.toggle('open', open);
    all.textContent = open ? 'Show fewer' : `All ${given.length}`;
    all.setAttribute('aria-expanded', String(open));
  };
  const all = button({class: 'link all'}, () => unfold(!strip.classList.contains('open')));
  const example = (data, place) => node('li', {}, button({class: 'example box'}, () => { unfold(false); page.ask({example: String(place)}); },
    data.picture ? node('img', {src: data.picture, alt: '', loading: 'lazy'}) : node('span', {class: 'quote', 'aria-hidden': 'true'}, '“'),
    node('span', {class: 'example-text'}, node('span', {class: 'title'}, data.title),
      ...data.text ? [node('span', {class: 'example-query'}, `“${data.text}”`)] : [],
      ...data.instructions.map(words => node('span', {class: 'wanted'}, words)), task(data))));
  strip.append(node('h2', {}, 'Try one of these, or use your own photo'), node('ol', {}, ...given.map(example)), all);
  unfold(false);
  return [strip];
};
