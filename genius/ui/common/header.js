// The address of the first run, from which the others lead. Not from the page's own address: a proxy may hide a part.
const site = (window.gradio_config?.root ?? location.origin).replace(/\/run\/[^/]*\/?$/, '').replace(/\/$/, '');

// Who signed in can sign out, in this browser alone.
const {username} = window.gradio_config ?? {};
const signOut = node('a', {class: 'sign-out', href: `${site}/logout?all_session=false`, title: `Signed in as ${username}`}, 'Log out');
const addSignOut = () => requestAnimationFrame(() => username && element.querySelector('.guides').append(signOut));
addSignOut();
watch('value', addSignOut);

const choice = (name, run) => node('li', {}, node('a',
  {href: `${site}/run/${encodeURIComponent(name)}/`, ...name === run ? {'aria-current': 'page'} : {}}, name));

const action = (name, title, onClick) => button({class: 'plain', title}, onClick, name);

// For a projector: large type, and nothing that needs explaining. Its address keeps it.
const present = on => {
  document.documentElement.classList.toggle('present', on);
  const url = new URL(location);
  url.searchParams.delete('present');
  if (on) url.searchParams.set('present', '1');
  history.replaceState(history.state, '', url);
};
const presenting = () => document.documentElement.classList.contains('present');
present(new URL(location).searchParams.has('present'));

const presenter = () => {
  const name = () => presenting() ? 'Leave presenter view' : 'Presenter view';
  return action(name(), 'Large type, without settings', clicked => {
    present(!presenting());
    clicked.textContent = name();
  });
};

const draw = ({facts, run, runs, tour}) => [node('header', {class: 'masthead'},
  node('span', {class: 'logo', 'aria-hidden': 'true'}, node('i', {}), node('i', {}), node('i', {})),
  node('div', {},
    node('h1', {}, 'GENIUS Explorer'),
    node('p', {}, 'Search by generating the ID of the item you want, one code at a time.')),
  node('div', {class: 'run'},
    node('div', {class: 'guides'}, ...runs.length ? [node('nav', {'aria-label': 'Run'}, node('ul', {class: 'runs'},
      ...runs.map(name => choice(name, run))))] : [], ...tour ? [action('Take the tour', 'A guided tour, about two minutes',
      () => emit('tour', {}))] : [], presenter()),
    node('ul', {class: 'facts'}, ...facts.map(fact => node('li', {}, fact)))))];
