const table = ({title, columns, rows, words}) => node('section', {}, node('h3', {}, title),
  scrollRegion(title, 'scroll',
    node('table', {},
      node('thead', {}, node('tr', {}, ...columns.map((name, place) =>
        node('th', {scope: 'col', class: place < words ? 'word' : 'figure'}, name)))),
      node('tbody', {}, ...rows.map(row => node('tr', {}, ...row.map((cell, place) =>
        node('td', {class: place < words ? 'word' : 'figure'}, cell))))))));

const draw = value => {
  if (!value) return [];
  const parts = [];
  if (value.title) parts.push(node('h2', {}, value.title));
  if (value.lead) parts.push(node('p', {}, value.lead));
  if (value.title && value.note) parts.push(node('details', {}, node('summary', {class: 'note'}, 'How it was measured'),
    node('p', {class: 'note'}, value.note)));
  if (value.command) parts.push(node('p', {class: 'note'}, value.reason), node('pre', {}, value.command));
  parts.push(...(value.tables ?? []).map(table));
  return [node('div', {class: 'report'}, ...parts)];
};
