const wordItem = ({word, figure, share}) => node('li', {},
  node('span', {class: 'name'}, word), node('span', {class: 'meter', 'aria-hidden': 'true'},
    node('i', {style: `width: ${100 * Math.min(share, 1)}%`})), node('span', {class: 'figure'}, figure));

const factor = ({name, figure, share, siblings_figure, siblings_share}) => node('tr', {},
  node('th', {scope: 'row'}, name),
  node('td', {class: 'figure'}, figure, node('i', {class: 'under', style: `width: ${100 * share}%`})),
  node('td', {class: 'figure'}, siblings_figure, node('i', {class: 'under faint', style: `width: ${100 * siblings_share}%`})));

const draw = value => {
  if (!value) return [];
  if (value.paragraphs) return [node('section', {class: 'codes-meaning'},
    node('h2', {}, value.title), ...value.paragraphs.map(words => node('p', {}, words)))];
  const {note, guess, words, factors} = value;
  const parts = [node('h2', {}, guess ? 'Most similar words' : 'Distinctive words')];
  if (words.length) parts.push(node('ol', {class: 'word-list'}, ...words.map(wordItem)), node('p', {class: 'note'}, note));
  else parts.push(node('p', {class: 'note'}, 'No word stands out.'));
  if (factors.length) parts.push(node('h2', {}, 'What its items are'),
    node('div', {class: 'factors'}, tableOf(['property', 'here', 'in the codes beside it'], factors.map(factor))));
  return [node('section', {class: 'codes-meaning'}, ...parts)];
};
