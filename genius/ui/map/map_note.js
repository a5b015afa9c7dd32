const healthTable = ({caption, headers, rows}) => node('table', {class: 'health'},
  node('caption', {}, caption),
  node('thead', {}, node('tr', {}, ...headers.map(name => node('th', {scope: 'col'}, name)))),
  node('tbody', {}, ...rows.map(([name, ...values]) =>
    node('tr', {}, node('th', {scope: 'row'}, name), ...values.map(value => node('td', {}, value))))));

const draw = value => !value ? [] : [node('div', {class: 'map-note'},
  node('div', {'data-announced': ''}, ...value.sentences.map(words => node('p', {}, words))),
  ...value.table ? [healthTable(value.table)] : [])];
