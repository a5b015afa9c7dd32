const tile = editable => ({id, name, modality, text, label, picture, codes}) => node('li', {class: `added ${modality}`},
  picture ? node('img', {src: picture, alt: text ? '' : label}) : '',
  text ? node('p', {class: picture ? 'caption' : 'excerpt'}, text) : '',
  node('p', {class: 'line'}, node('span', {class: 'badge'}, name), node('span', {class: 'item'}, `item ${id}`)),
  prefixes(codes),
  node('p', {class: 'line'}, action('Use as query', `Search with ${id}`, () => genius.send.ask({item: id})),
    editable ? confirmed('Remove', `Remove ${id} from the collection`, () => emit('take_out', {id})) : ''));

const draw = value => {
  if (!value) return [];
  const {total, tiles, page, pages, editable} = value;
  return [node('section', {class: 'collection-added'},
    node('h2', {}, 'Added since training', node('span', {class: 'label'}, ` ${total}, newest first`)),
    node('ol', {}, ...tiles.map(tile(editable))), ...pager(page, pages, page => emit('turn', {page})))];
};
