// Questions about an uploaded picture, one click each.
const draw = value => {
  if (!value) return [];
  return [node('div', {class: 'quick', role: 'group', 'aria-label': 'Ask about this picture'},
    ...value.instructions.map(words => {
      const button = node('button', {type: 'button'}, words.replace(/\.$/, ''));
      button.addEventListener('click', () => emit('select', {instruction: words}));
      return button;
    }))];
};
