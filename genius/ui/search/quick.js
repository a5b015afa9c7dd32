// Questions about an uploaded picture, one click each.
const draw = value => value ? [node('div', {class: 'quick', role: 'group', 'aria-label': 'Ask about this picture'},
  ...value.instructions.map(instruction => button({}, () => emit('select', {instruction}), instruction.replace(/\.$/, ''))))] : [];
