const draw = ({facts}) => [node('header', {class: 'masthead'},
  node('span', {class: 'logo', 'aria-hidden': 'true'}, node('i', {}), node('i', {}), node('i', {})),
  node('div', {},
    node('h1', {}, 'GENIUS Explorer'),
    node('p', {}, 'Search by generating the ID of the item you want, one code at a time.')),
  node('ul', {class: 'run'}, ...facts.map(fact => node('li', {}, fact))))];
