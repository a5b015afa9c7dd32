const draw = ({reason, command}) => [node('div', {class: 'empty'},
  node('h2', {}, 'No map to show'),
  node('p', {}, reason),
  node('p', {}, 'Maps are made once per run, in a few minutes, on the machine that trained it:'),
  node('p', {}, node('code', {}, command)))];
