const FEW = 10;    // IDs that are shown at first

const row = (data, place) => node('tr', {},
  node('td', {class: 'place'}, String(place + 1)),
  node('td', {}, chips(data)),
  ...data.figures.map(figure => node('td', {class: 'figure'}, figure)));

const draw = value => {
  if (!value) return [];
  const {lead, query, rows, columns, meaning} = value;
  const table = tableOf(columns, rows.map(row));
  const more = button({class: 'plain all-ids'}, () => fold(more.getAttribute('aria-expanded') === 'true'));
  const fold = folded => {
    [...table.tBodies[0].rows].slice(FEW).forEach(one => { one.hidden = folded; });
    more.textContent = folded ? `Show all ${rows.length}` : 'Show fewer';
    more.setAttribute('aria-expanded', String(!folded));
  };
  fold(true);
  return [node('section', {class: 'generated'},
    node('h2', {}, 'Generated IDs'),
    node('p', {}, lead),
    node('p', {class: 'own'},
      node('span', {class: 'label'}, 'The query’s own ID '), chips(query)),
    node('p', {class: 'note'}, node('span', {class: 'code shared'}, 'marked'),
      ' first codes are those of the query’s own ID, the one that it would have as an item.'),
    folded('What these numbers mean', ...meaning.map(words => node('p', {class: 'note'}, words))),
    scrollRegion('Generated IDs', 'scroll', table), ...rows.length > FEW ? [more] : [])];
};
