const entry = ({title, thumbnail, instruction, picture}, place) => {
  const button = node('button', {type: 'button', class: 'entry'});
  if (thumbnail) button.append(node('img', {src: thumbnail, alt: ''}));
  button.append(node('span', {class: 'asked'}, title));
  if (instruction) button.append(node('span', {class: 'wanted'}, instruction));
  if (picture) button.append(node('span', {class: 'wanted'}, 'with a picture that was not kept'));
  button.addEventListener('click', () => emit('select', {index: place}));
  return node('li', {}, button);
};

const draw = value => [
  ...value ? [node('ol', {class: 'history', 'aria-label': 'Your last searches'}, ...value.entries.map(entry))] : [],
  node('p', {class: 'label'}, value ? 'Click one to search again. ' : 'No searches yet. ',
    'The last 20 searches stay in your browser.')];
