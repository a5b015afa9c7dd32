const COLUMNS = ['Level', 'Beginning', 'Outcome', 'Rank', 'Probability of its code', 'log p so far', 'Items'];

const row = data => {
  const open = button({class: 'link', title: 'Show its items in Codes'},
    () => genius.send.open_code(data.codes.join('.')), chips({codes: data.codes, shared: data.shared, within: true}));
  return node('tr', {},
    node('td', {class: 'place'}, String(data.level)), node('td', {}, open), node('td', {}, data.fate),
    ...[data.place, data.step, data.log_prob, data.items].map(figure => node('td', {class: 'figure'}, String(figure))));
};

const draw = value => value ? [scrollRegion('The tree as a table', 'scroll', tableOf(COLUMNS, value.rows.map(row)))] : [];
