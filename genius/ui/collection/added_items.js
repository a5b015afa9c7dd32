const action = (label, title, onClick) => button({class: 'plain', title}, onClick, label);

// The first click asks for confirmation, the second removes; but not that of a double click, nor a key that is held.
const PAUSE = 600, PATIENCE = 6000;    // milliseconds after the question: until an answer counts, and until none does
const remove = id => {
  let asked, patience;
  const disarm = () => {
    clearTimeout(patience);
    made.classList.remove('sure');
    made.textContent = 'Remove';
  };
  const made = action('Remove', `Remove ${id} from the collection`, () => {
    if (!made.classList.contains('sure')) {
      asked = performance.now();
      made.classList.add('sure');
      made.textContent = 'Really remove?';
      patience = setTimeout(disarm, PATIENCE);    // Safari gives a clicked button no focus, so that none is lost
    } else if (performance.now() - asked > PAUSE) {
      disarm();
      emit('take_out', {id});
    }
  });
  made.addEventListener('blur', disarm);
  made.addEventListener('keydown', event => { if (event.repeat) event.preventDefault(); });
  return made;
};

const tile = editable => ({id, name, modality, text, label, picture}) => node('li', {class: `added ${modality}`},
  picture ? node('img', {src: picture, alt: text ? '' : label}) : '',
  text ? node('p', {class: picture ? 'caption' : 'excerpt'}, text) : '',
  node('p', {class: 'line'}, node('span', {class: 'badge'}, name), node('span', {class: 'item'}, `item ${id}`)),
  node('p', {class: 'line'}, action('Use as query', `Search with ${id}`, () => emit('use_as_query', {id})),
    editable ? remove(id) : ''));

const draw = value => {
  if (!value) return [];
  const {total, tiles, page, pages, editable} = value;
  return [node('section', {class: 'collection-added'},
    node('h2', {}, 'Added since training', node('span', {class: 'label'}, ` ${total}, newest first`)),
    node('ol', {}, ...tiles.map(tile(editable))), ...pager(page, pages, page => emit('turn', {page})))];
};
