const draw = ({title, lines}) => [node('div', {class: 'collection-outcome', 'data-announced': ''},
  node('p', {class: 'title'}, title), ...lines.map(line => node('p', {}, line)))];
