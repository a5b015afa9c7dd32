const tile = kinds => ({id, name, modality, text, label, picture, figure, provenance}) => {
  const title = [text || label, provenance?.credit, provenance?.licence].filter(Boolean).join('\n');
  return node('li', {}, button({class: `tile box ${modality}`, title}, () => emit('select', {id}),
    picture ? node('img', {src: picture, alt: text ? '' : label}) : '',
    text ? node('span', {class: picture ? 'caption' : 'excerpt'}, text) : '',
    node('span', {class: 'line'}, kinds > 1 ? node('span', {class: 'badge'}, name) : '',
      figure ? node('span', {class: 'figure'}, figure) : '')));
};

const group = ({title, note, tiles}) => node('section', {},
  node('h2', {}, title, node('span', {class: 'label'}, note ? ` ${note}` : '')),
  node('ol', {class: 'tiles'}, ...tiles.map(tile(new Set(tiles.map(({name}) => name)).size))));

const filterButton = ({name, modality, items, chosen}) => button({class: `choice ${modality}`, 'aria-pressed': String(chosen)},
  () => emit('turn', {modality, page: 0}), `${name} ${items}`);

const draw = value => {
  if (!value) return [];
  const {groups, filters = [], modality, page = 0, pages = 1} = value;
  const parts = groups.filter(({tiles}) => tiles.length).map(group);
  if (filters.length) parts[0].children[0].after(node('div',
    {class: 'choices', role: 'group', 'aria-label': 'Modality'}, ...filters.map(filterButton)));
  return [node('div', {class: 'item-tiles'}, ...parts, ...pager(page, pages, page => emit('turn', {modality, page})))];
};
