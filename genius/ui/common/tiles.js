// What a click on an item does: a search with it, or an event.
const choose = id => props.asks ? genius.send.ask({item: id}) : emit('select', {id});

const group = ({title, note, tiles}) => {
  const mixed = new Set(tiles.map(({name}) => name)).size > 1;
  return node('section', {}, node('h2', {}, title, node('span', {class: 'label'}, note ? ` ${note}` : '')),
    node('ol', {class: 'tiles'}, ...tiles.map(one => itemTile(one, () => choose(one.id), mixed))));
};

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
