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

const action = (name, title, onClick) => button({title}, onClick, name);

// A way to show the page, which its address keeps: `present`, for a projector, with large type and nothing that needs
// explaining, `embed`, within another page, without what is around a tab, and `numbers`, with all that the search knows,
// which the browser remembers, too.
genius.setView = (name, on) => {
  document.documentElement.classList.toggle(name, on);
  const url = new URL(location);
  url.searchParams.delete(name);
  if (on) url.searchParams.set(name, '1');
  history.replaceState(history.state, '', url);
};
genius.isView = name => document.documentElement.classList.contains(name);
const asked = name => new URL(location).searchParams.has(name);
genius.setView('present', asked('present'));
genius.setView('embed', asked('embed'));
genius.setView('numbers', asked('numbers') || localStorage.getItem('genius-numbers') === '1');

const presenter = () => {
  const name = () => genius.isView('present') ? 'Leave presenter view' : 'Presenter view';
  return action(name(), 'Large type, without settings', clicked => {
    genius.setView('present', !genius.isView('present'));
    clicked.textContent = name();
  });
};

const openAbout = () => {
  const about = document.querySelector('#about details');
  about.open = true;
  genius.closeMenus();
  about.querySelector('summary').focus();
};

const masthead = ({facts, run, runs, tour, about}) => [node('header', {class: 'masthead'},
  node('span', {class: 'logo', 'aria-hidden': 'true'}, node('i', {}), node('i', {}), node('i', {})),
  node('h1', {}, 'GENIUS Explorer'),
  node('div', {class: 'guides'},
    ...runs.length ? [menu(run, {'aria-label': `Run: ${run}`}, node('nav', {'aria-label': 'Run'}, node('ul', {class: 'runs'},
      ...runs.map(name => choice(name, run)))))] : [],
    ...tour ? [action('Tour', 'A guided tour, about two minutes', () => emit('tour', {}))] : [],
    menu('⋯', {'aria-label': 'More'}, presenter(),
      ...about ? [action('About this collection', 'What it holds, and what an ID is', openAbout)] : [],
      node('ul', {class: 'facts'}, ...facts.map(fact => node('li', {}, fact))))))];

const draw = value => {
  genius.run = value.run;    // of which the browser keeps the last searches (links.js)
  return masthead(value);
};
