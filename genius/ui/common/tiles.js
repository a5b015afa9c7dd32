const tile = ({id, name, kind, text, label, picture, figure, provenance}) => {
  const title = [text || label, provenance?.credit, provenance?.licence].filter(Boolean).join('\n');
  const button = node('button', {type: 'button', class: `tile ${kind}`, title},
    picture ? node('img', {src: picture, alt: text || label}) : '',
    text ? node('span', {class: picture ? 'caption' : 'excerpt'}, text) : '',
    node('span', {class: 'line'}, node('span', {class: 'badge'}, name),
      figure ? node('span', {class: 'figure'}, figure) : ''));
  button.addEventListener('click', () => emit('select', {id}));
  return node('li', {}, button);
};

const group = ({title, note, tiles}) => node('section', {},
  node('h2', {}, title, node('span', {class: 'label'}, note ? ` ${note}` : '')),
  node('ol', {class: 'tiles'}, ...tiles.map(tile)));

const pressed = (label, on, message, kind = '') => {
  const button = node('button', {type: 'button', class: `choice ${kind}`, 'aria-pressed': String(on)}, label);
  button.addEventListener('click', () => emit('turn', message));
  return button;
};

const turn = (label, page, {kind, pages}) => {
  const button = node('button', {type: 'button', class: 'choice'}, label);
  button.disabled = page < 0 || page >= pages;
  button.addEventListener('click', () => emit('turn', {kind, page}));
  return button;
};

const draw = value => {
  if (!value) return [];
  const {groups, filters = [], page = 0, pages = 1} = value;
  const parts = groups.filter(({tiles}) => tiles.length).map(group);
  if (filters.length) parts[0].children[0].after(node('div',
    {class: 'choices', role: 'group', 'aria-label': 'Modality'},
    ...filters.map(({name, kind, items, chosen}) => pressed(`${name} ${items}`, chosen, {kind, page: 0}, kind))));
  if (pages > 1) parts.push(node('nav', {class: 'choices', 'aria-label': 'Pages'},
    turn('Previous', page - 1, value), node('span', {class: 'label'}, `page ${(page + 1).toLocaleString('en')} of `
      + pages.toLocaleString('en')), turn('Next', page + 1, value)));
  return [node('div', {class: 'codes-tiles'}, ...parts)];
};
