const draw = ({title, counts, lines}) => [node('div', {class: 'collection-outcome', 'data-announced': ''},
  node('p', {class: 'title'}, title),
  ...counts.length ? [node('dl', {}, ...counts.map(({name, number}) =>
    node('div', {}, node('dt', {}, name), node('dd', {}, number))))] : [],
  ...lines.map(line => node('p', {}, line)))];
