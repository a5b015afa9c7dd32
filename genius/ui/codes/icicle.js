// Levels stand side by side; a code is as high as its share of the items. What is left of them is a narrow band, so
// that the codes shown have room for their names. Arrow keys walk the tree.
const cell = ({name, key, pattern, words, count, share, modality}, depth) => {
  const hint = `${pattern}: ${count}, ${share}${words ? `; ${words}` : ''}`;
  const label = node('span', {}, node('b', {}, name), ...words ? [node('i', {}, words)] : []);
  if (key === null) return node('div', {class: 'cell others', 'data-hint': hint}, node('span', {}, `${name}, ${share}`));
  return button({class: `cell ${modality}`, 'data-hint': `${count}, ${share}`, 'aria-label': hint, 'data-key': key,
    'data-prefix': key, tabindex: depth ? -1 : 0}, () => genius.send.open_code(key), label);
};

const branch = (data, depth = 0) => {
  const made = node('div', data.key === null ? {class: 'branch rest'}
    : {class: `branch depth${depth}`, style: `flex-grow: ${data.items}`}, cell(data, depth));
  if (data.children.length) made.append(node('div', {class: 'below'},
    ...data.children.map(child => branch(child, depth + 1))));
  return made;
};

const NEXT_BUTTON = {    // of a branch, by key
  ArrowRight: branch => branch.querySelector(':scope > .below > .branch > button'),
  ArrowLeft: branch => branch.parentElement.closest('.branch')?.querySelector(':scope > button'),
  ArrowDown: branch => branch.nextElementSibling?.querySelector(':scope > button'),
  ArrowUp: branch => branch.previousElementSibling?.querySelector(':scope > button'),
};
const walk = event => {
  if (!(event.key in NEXT_BUTTON)) return;
  event.preventDefault();
  NEXT_BUTTON[event.key](event.target.closest('.branch'))?.focus();
};

const draw = value => {
  if (!value) return [];
  const tree = node('div', {class: 'codes-icicle box', role: 'group',
    'aria-label': 'The codes as a tree; arrow keys move, Enter opens a code'}, branch(value));
  tree.addEventListener('keydown', walk);
  return [tree];
};
