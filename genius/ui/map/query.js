const answer = ({row, id, name, kind}) => {
  const one = node('button', {type: 'button', class: `answer ${kind}`}, `${name} ${id}`);
  one.addEventListener('click', () => trigger('select', {id}));
  return node('li', {}, one);
};

const hint = () => node('section', {class: 'empty map-hint'},
  node('h2', {}, 'Pick a point'),
  node('p', {}, 'A click tells what it is: its codes, and what is truly near it.'),
  node('p', {}, 'To look at many, choose “Select” and draw round them, or pick a colour in the table.'));

const draw = query => !query ? [hint()] : [node('section', {class: 'map-query'},
  node('h3', {}, 'A query of the collection'),
  ...query.text ? [node('p', {class: 'asked'}, `“${query.text}”`)] : [],
  ...query.picture ? [node('p', {class: 'label'}, 'Asked with a picture, which the run does not keep.')] : [],
  node('p', {}, node('span', {class: 'label'}, 'instruction '), query.instruction),
  node('p', {class: 'label'}, query.answers.length === 1 ? 'What answers it:' : 'What answers it, the first below:'),
  node('ul', {class: 'answers'}, ...query.answers.map(answer)))];
