const action = (label, title, onClick) => button({class: 'act', title}, onClick, label);

// The first click asks for confirmation, the second removes.
const remove = id => {
  const made = action('Remove', `Remove ${id} from the collection`, () => {
    if (made.classList.contains('sure')) emit('take_out', {id});
    else { made.classList.add('sure'); made.textContent = 'Really remove?'; }
  });
  made.addEventListener('blur', () => { made.classList.remove('sure'); made.textContent = 'Remove'; });
  return made;
};

const tile = editable => ({id, name, modality, text, label, picture}) => node('li', {class: `added ${modality}`},
  picture ? node('img', {src: picture, alt: text ? '' : label}) : '',
  text ? node('p', {class: picture ? 'caption' : 'excerpt'}, text) : '',
  node('p', {class: 'line'}, node('span', {class: 'badge'}, name), node('span', {class: 'item'}, `item ${id}`)),
  node('p', {class: 'line'}, action('Use as query', `Search with ${id}`, () => emit('use_as_query', {id})),
    editable ? remove(id) : ''));

const pageButton = (label, page, pages) => {
  const made = action(label, `${label} page`, () => emit('turn', {page}));
  made.disabled = page < 0 || page >= pages;
  return made;
};

const draw = value => {
  if (!value) return [];
  const {total, tiles, page, pages, editable} = value;
  const parts = [node('h2', {}, 'Added since training', node('span', {class: 'label'}, ` ${total}, newest first`)),
    node('ol', {}, ...tiles.map(tile(editable)))];
  if (pages > 1) parts.push(node('nav', {class: 'line', 'aria-label': 'Pages'}, pageButton('Previous', page - 1, pages),
    node('span', {class: 'label'}, `page ${page + 1} of ${pages}`), pageButton('Next', page + 1, pages)));
  return [node('section', {class: 'collection-added'}, ...parts)];
};
