const entry = ({title, thumbnail, instruction, picture}, place) => {
  const one = node('button', {type: 'button', class: 'entry'});
  if (thumbnail) one.append(node('img', {src: thumbnail, alt: ''}));
  one.append(node('span', {class: 'asked'}, title));
  if (instruction) one.append(node('span', {class: 'wanted'}, instruction));
  if (picture) one.append(node('span', {class: 'wanted'}, 'with a picture that was not kept'));
  one.addEventListener('click', () => emit('select', {index: place}));
  return node('li', {}, one);
};

const draw = value => [
  ...value ? [node('ol', {class: 'history', 'aria-label': 'Your last searches'}, ...value.entries.map(entry))] : [],
  node('p', {class: 'label'}, value ? 'Click one to search again. ' : 'No searches yet. ',
    'The last 20 searches stay in your browser.')];
