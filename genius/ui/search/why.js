// A code of an ID; where items begin with it, a button that shows them in Codes.
const code = (data, level) => {
  const className = `code${level < data.shared ? ' shared' : ''}`;
  const shown = level ? String(data.codes[level]) : data.first;
  if (!data.opens) return node('span', {class: className}, shown);
  const prefix = data.codes.slice(0, level + 1);
  const hint = `Click to see the items whose ID begins with ${prefix.join(' · ')}.`;
  const value = prefix.join('.');
  return button({class: className, 'data-hint': hint, 'data-prefix': value}, () => genius.send.open_code(value), shown);
};

const identity = (data, levels) => node('tr', {class: 'identity'}, node('th', {scope: 'row'}, data.name),
  ...levels.map(level => node('td', {}, code(data, level))));

const step = ({name, figures}, levels) => node('tr', {}, node('th', {scope: 'row'}, name),
  ...levels.map(level => node('td', {}, figures[level] ?? '–')));

// The smallest group that it belongs to, which Codes shows.
const group = ({prefix, codes, items}) => button({}, () => genius.send.open_code(prefix), `${items} share `,
  node('span', {'data-short': prefix}, `the first ${codes} codes`), ' ▸');

const act = (name, event, id) => button({}, clicked => genius.act(event, id, clicked), name);

const draw = value => {
  if (!value) return [node('p', {class: 'waiting', 'data-announced': ''}, 'Tracing the search…')];
  const {title, item, plain, group: near, sentences, flags, note, ids, first_codes, steps, legend} = value;
  const levels = [...ids[0].codes.keys()];
  requestAnimationFrame(genius.fillMeanings);
  return [node('section', {class: 'why', 'aria-label': title},
    node('h2', {}, `${title} `, node('span', {class: `badge ${item.modality}`}, item.name)),
    node('div', {class: 'which'}, ...item.picture ? [node('img', {src: item.picture, alt: item.text ? '' : item.label})] : [],
      node('div', {}, node('p', {class: 'in-short', 'data-announced': ''}, plain), ...creditLine(item.provenance))),
    ...item.text ? [node('p', {class: 'words'}, item.text)] : [],
    node('div', {class: 'actions'}, act('Similar', 'use_as_query', item.id),
      ...item.picture ? [act('Use this picture', 'use_picture', item.id)] : [], act('Blend', 'blend', item.id)),
    node('h3', {}, 'Where it belongs'),
    node('div', {class: 'actions'}, group(near), button({}, () => emit('open_map', {}), 'Show on the map ▸')),
    node('div', {class: 'expert'},
      ...sentences.map(one => node('p', {class: 'sentence', 'data-announced': ''}, one)),
      node('ul', {class: 'pills'}, ...flags.map(flag => node('li', {}, flag))),
      scrollRegion('Its codes, level by level', 'scroll', tableOf(['Level', ...levels.map(String)],
        [...ids.map(one => identity({...one, first: first_codes[one.codes[0]]}, levels)), ...steps.map(row => step(row, levels))])),
      node('p', {class: 'note'}, node('span', {class: 'code shared'}, 'Marked'), ': the first codes that an ID shares with this '
        + 'result; in this result’s own row, those it shares with the best generated ID. ', note),
      folded('What these numbers mean', node('p', {}, 'Probability: among all codes of the level. Codes that lead to no item are ruled '
        + 'out (masked). log p adds up the logarithms of the probabilities; 0 is certain. The score orders the IDs.')),
      node('h3', {}, 'Beam tree'),
      node('ul', {class: 'legend'},
        node('li', {class: 'this'}, 'this result'),
        ...legend.map(fate => node('li', {class: fate.key}, fate.name)),
        node('li', {class: 'masked'}, 'probability of codes that lead to no item, ruled out (masked)')),
      node('p', {class: 'note'}, 'The beginnings of IDs that the search followed at once (its beam). Each column is a level, the best on top; '
        + 'thicker lines are more probable codes. Click a point to see its items in Codes.')))];
};
