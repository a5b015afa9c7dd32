const row = (data, place) => node('tr', {},
  node('td', {class: 'place'}, String(place + 1)),
  node('td', {}, chips(data)),
  ...data.figures.map(figure => node('td', {class: 'figure'}, figure)));

const draw = value => {
  if (!value) return [];
  const {query, rows, columns, note} = value;
  return [node('section', {class: 'generated'},
    node('h2', {}, 'Generated IDs'),
    node('p', {class: 'own'}, node('span', {class: 'label'}, 'The query’s own ID '), chips(query)),
    node('p', {class: 'note'}, node('span', {class: 'code shared'}, 'marked'),
      ` leading codes are shared with the query’s own ID. ${note}`),
    node('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Generated IDs'},
      node('table', {},
        node('thead', {}, node('tr', {},
          ...columns.map(name => node('th', {scope: 'col'}, name)))),
        node('tbody', {}, ...rows.map(row)))))];
};
