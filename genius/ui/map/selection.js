const wordItem = ({word, share}) => node('li', {}, word,
  ...share ? [node('span', {class: 'label'}, ` ${share}`)] : []);

const draw = value => {
  if (!value) return [];
  const {label, total, saved, words, guess, files} = value;
  const many = total.toLocaleString('en');
  return [node('section', {class: 'map-selection box', 'aria-label': 'Selected items'},
    node('div', {class: 'top'}, node('h2', {'data-announced': ''}, `${many} ${total === 1 ? 'item' : 'items'} `,
      node('span', {class: 'label'}, label)),
      node('p', {class: 'actions'}, node('span', {class: 'label'},
        saved < total ? `save the first ${saved.toLocaleString('en')} as ` : 'save as '), ...files.map(saveButton))),
    ...words.length ? [
      node('p', {class: 'label'}, guess ? 'These items have no texts; the words most similar to them on average:'
        : 'Words that set these items apart from the others, with the share of their texts that contain them:'),
      node('ul', {class: 'pills'}, ...words.map(wordItem))] : [])];
};
