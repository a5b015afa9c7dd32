const entry = ({title, thumbnail, instruction, picture, asked}) => node('li', {},
  button({class: 'entry'}, () => genius.send.ask(asked),
    ...thumbnail ? [node('img', {src: thumbnail, alt: ''})] : [],
    node('span', {class: 'asked'}, title),
    ...instruction ? [node('span', {class: 'wanted'}, instruction)] : [],
    ...picture ? [node('span', {class: 'wanted'}, 'with a picture that was not kept')] : []));

// Another tab of this browser has searched.
addEventListener('storage', ({key}) => {
  if (genius.isHistory(key) && element.checkVisibility()) emit('longer', {});
});

const draw = ({entries}) => [
  ...entries.length ? [node('ol', {class: 'history', 'aria-label': 'Your last searches'}, ...entries.map(entry))] : [],
  node('p', {class: 'label'}, entries.length ? 'Click one to search again. ' : 'No searches yet. ',
    'The last 20 searches stay in your browser; the pictures that you uploaded do not.')];
