// The address of the first run, from which the others lead. Not from the page's own address: a proxy may hide a part.
const site = (window.gradio_config?.root ?? location.origin).replace(/\/run\/[^/]*\/?$/, '').replace(/\/$/, '');

const choice = (name, run) => node('li', {}, node('a',
  {href: `${site}/run/${encodeURIComponent(name)}/`, ...name === run ? {'aria-current': 'page'} : {}}, name));

const draw = ({facts, run, runs}) => [node('header', {class: 'masthead'},
  node('span', {class: 'logo', 'aria-hidden': 'true'}, node('i', {}), node('i', {}), node('i', {})),
  node('div', {},
    node('h1', {}, 'GENIUS Explorer'),
    node('p', {}, 'Search by generating the ID of the item you want, one code at a time.')),
  node('div', {class: 'run'},
    ...runs.length ? [node('nav', {'aria-label': 'Run'}, node('ul', {class: 'runs'},
      ...runs.map(name => choice(name, run))))] : [],
    node('ul', {class: 'facts'}, ...facts.map(fact => node('li', {}, fact)))))];
