const cell = ({text, key, bar}, column) => {
  const made = node(column ? 'td' : 'th', column ? {} : {scope: 'row'}, key === undefined ? text
    : button({class: 'code', 'data-prefix': key}, () => genius.send.open_code(key), text));
  if (bar !== undefined) made.append(node('i', {class: 'under', style: `width: ${100 * bar}%`}));
  return made;
};

const table = ({caption, note, columns, rows}) => node('section', {},
  node('h2', {}, caption), ...note ? [node('p', {class: 'note'}, note)] : [],
  scrollRegion(caption, 'scroll',
    tableOf(columns, rows.map(row => node('tr', {}, ...row.map(cell))))));

const draw = value => value ? [node('div', {class: 'data-table'},
  ...value.note ? [node('p', {class: 'note'}, value.note)] : [], ...value.tables.map(table))] : [];
