// Levels stand side by side; a code is as high as its share of the items. What is left of them is a narrow band, so
// that the codes shown have room for their names. Arrow keys walk the tree.
const cell = ({name, key, pattern, words, count, share, kind}, depth) => {
  const hint = `${pattern}: ${count}, ${share}${words ? `; ${words}` : ''}`;
  const label = node('span', {}, node('b', {}, name), words ? ` ${words}` : '');
  if (key === null) return node('div', {class: 'cell others', 'data-hint': hint}, node('span', {}, `${name}, ${share}`));
  const button = node('button', {type: 'button', class: `cell ${kind}`, 'data-hint': `${count}, ${share}`, 'aria-label': hint,
    'data-key': key, 'data-prefix': key, tabindex: depth ? -1 : 0}, label);
  button.addEventListener('click', () => emit('select', {key}));
  return button;
};

const branch = (data, depth = 0) => {
  const made = node('div', data.key === null ? {class: 'branch rest'}
    : {class: `branch depth${depth}`, style: `flex-grow: ${data.items}`}, cell(data, depth));
  if (data.children.length) made.append(node('div', {class: 'below'},
    ...data.children.map(child => branch(child, depth + 1))));
  return made;
};

const STEPS = {
  ArrowRight: of => of.querySelector(':scope > .below > .branch > button'),
  ArrowLeft: of => of.parentElement.closest('.branch')?.querySelector(':scope > button'),
  ArrowDown: of => of.nextElementSibling?.querySelector(':scope > button'),
  ArrowUp: of => of.previousElementSibling?.querySelector(':scope > button'),
};
const walk = event => {
  if (!(event.key in STEPS)) return;
  event.preventDefault();
  STEPS[event.key](event.target.closest('.branch'))?.focus();
};

const draw = value => {
  if (!value) return [];
  const tree = node('div', {class: 'codes-icicle', role: 'group',
    'aria-label': 'The codes as a tree; arrow keys move, Enter opens a code'}, branch(value));
  tree.addEventListener('keydown', walk);
  return [tree];
};
