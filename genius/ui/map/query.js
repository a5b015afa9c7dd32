const answer = ({id, label, modality}) => node('li', {},
  button({class: `choice ${modality}`}, () => emit('select', {id}), label));

const draw = query => !query ? [] : [node('section', {class: 'map-query'},
  node('h3', {}, 'A test question of the collection'),
  ...query.text ? [node('p', {class: 'asked'}, `“${query.text}”`)] : [],
  ...query.picture ? [node('p', {class: 'label'}, 'It has a picture, which the run does not keep.')] : [],
  node('p', {}, node('span', {class: 'label'}, 'instruction '), query.instruction),
  node('p', {class: 'label'}, query.answers.length === 1 ? 'Its answer:' : 'Its answers, the first shown below:'),
  node('ul', {class: 'choices'}, ...query.answers.map(answer)))];
