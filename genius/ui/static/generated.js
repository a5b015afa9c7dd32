const row = (data, place) => node('tr', {},
  node('td', {class: 'place'}, String(place + 1)),
  node('td', {}, chips(data)),
  node('td', {class: 'figure'}, data.score),
  node('td', {class: 'figure'}, data.bucket.toLocaleString('en')));

const draw = value => {
  if (!value) return [];
  const {query, rows, label, note} = value;
  return [node('section', {class: 'generated'},
    node('h2', {}, 'Generated IDs'),
    node('p', {class: 'own'}, node('span', {class: 'label'}, 'The query’s own ID '), chips(query)),
    node('p', {class: 'note'}, node('span', {class: 'code shared'}, 'marked'),
      ` codes are shared with it from the start. ${note}`),
    node('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Generated IDs'},
      node('table', {},
        node('thead', {}, node('tr', {},
          ...['#', 'ID', label, 'items'].map(name => node('th', {scope: 'col'}, name)))),
        node('tbody', {}, ...rows.map(row)))))];
};
