// Questions about an uploaded picture, one click each.
const draw = value => {
  if (!value) return [];
  return [node('div', {class: 'quick', role: 'group', 'aria-label': 'Ask about this picture'},
    ...value.instructions.map(words => {
      const one = node('button', {type: 'button'}, words.replace(/\.$/, ''));
      one.addEventListener('click', () => emit('select', {instruction: words}));
      return one;
    }))];
};
