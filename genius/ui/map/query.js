const answer = ({id, label, modality}) => node('li', {},
  button({class: `answer ${modality}`}, () => emit('select', {id}), label));

const hint = () => node('section', {class: 'empty map-hint'},
  node('h2', {}, 'Pick a point'),
  node('p', {}, 'Click one to see the item, its codes and the items most similar to it.'),
  node('p', {}, 'To see many items, choose “Select” in the settings and draw around them, or choose a color in the table.'));

const draw = query => !query ? [hint()] : [node('section', {class: 'map-query'},
  node('h3', {}, 'A test question of the collection'),
  ...query.text ? [node('p', {class: 'asked'}, `“${query.text}”`)] : [],
  ...query.picture ? [node('p', {class: 'label'}, 'It has a picture, which the run does not keep.')] : [],
  node('p', {}, node('span', {class: 'label'}, 'instruction '), query.instruction),
  node('p', {class: 'label'}, query.answers.length === 1 ? 'Its answer:' : 'Its answers, the first shown below:'),
  node('ul', {class: 'answers'}, ...query.answers.map(answer)))];
