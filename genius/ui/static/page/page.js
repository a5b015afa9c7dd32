// The page: header, tabs, and what all panels share. Each panel is a module of its own, loaded when it is first opened.
import * as api from './api.js';
import {fillMeanings, loadNames, wantNames} from './names.js';
import {button, closeMenus, menu, node, replace} from './nodes.js';
import {queryBox, takeAnywhere} from './query.js';

const TABS = {search: 'Search', codes: 'Codes', map: 'Map', compare: 'Compare', reports: 'Reports', collection: 'Collection', api: 'API'};
const SEARCH = ['q', 'instruction', 'item', 'picture', 'example', 'reading'];
const NAMED = '[data-prefix], [data-meaning], [data-short]';    // what shows the names of codes
const VIEWS = ['present', 'embed', 'numbers'];    // ways to show the page, which its address keeps
const version = import.meta.url.match(/static\/([^/]+)\//)[1];
const mounted = {}, roots = {}, tabs = {};
let tour = null;

// The address of the page is its state: the tab, the search, what each panel shows. An uploaded picture and the part of it
// that is searched stand in the browser's own entry of the history, for no address can name them.
const read = () => Object.fromEntries(new URL(location).searchParams);

const address = {
  listeners: new Set(),
  get: () => ({...read(), ...history.state?.kept}),
  // changes: parameters, '' removes one. replace: no new entry of the history. kept: what only this browser knows.
  set(changes, {replace = false, kept} = {}) {
    const url = new URL(location);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '' || value === null || value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    const state = {kept: kept === undefined ? history.state?.kept : kept};
    const same = url.href === location.href && JSON.stringify(state.kept ?? {}) === JSON.stringify(history.state?.kept ?? {});
    history[replace || same ? 'replaceState' : 'pushState'](state, '', url);
    address.tell();
  },
  tell: () => address.listeners.forEach(listener => listener(address.get())),
};
addEventListener('popstate', address.tell);

// Messages

const quiet = () => document.getElementById('told')?.remove();
const tell = (words, {label, act} = {}) => {
  quiet();
  document.body.append(node('p', {id: 'told', role: 'alert'}, words, ...label ? [button({}, () => { quiet(); act(); }, label)] : [],
    button({'aria-label': 'Close'}, quiet, '×')));
};
const fail = error => {
  if (error.name === 'AbortError') return;
  if (!error.message) throw error;
  if (!error.refused) console.error(error);
  tell(error.message, error.remedy);
};

export const page = {
  run: null,
  last: null,    // {search, title} of the last answered search
  address, get: api.get, call: api.call, upload: api.upload, link: api.link, picture: api.picture,
  tell, fail, quiet, queryBox,
  open: (tab, parameters = {}, options = {}) => address.set({tab: tab === 'search' ? '' : tab, tour: '', ...parameters}, options),
  openCode: code => page.open('codes', {code, play: '', only: '', page: ''}),
  openMap: (choice = {}) => page.open('map', {region: '', code: '', dataset: '', date: '', words: '', items: '', area: '', ...choice}),
  // A search, by the fields of an address. keep: with the words of the form, and the settings; upload, part: of the visitor's own.
  ask({upload, part, keep, ...fields}) {
    const now = address.get(), words = keep ? {q: now.q ?? '', instruction: now.instruction ?? ''} : {};
    const cleared = Object.fromEntries([...SEARCH, ...keep ? [] : ['kind']].map(name => [name, '']));
    const settings = Object.fromEntries(Object.entries(page.run.settings).map(([name, own]) => [name, fields[name] === undefined ? undefined : String(fields[name]) === String(own) ? '' : fields[name]]).filter(([, value]) => value !== undefined));
    const wanted = Object.fromEntries(Object.entries(fields).filter(([name]) => SEARCH.includes(name)));
    const kept = upload ? {upload, ...part ? {part} : {}} : {};
    address.set({tour: '', tab: '', ...cleared, ...words, ...wanted, ...settings}, {kept});
  },
  answered(last) {
    page.last = last;
    quiet();
    if (!sessionStorage.restarted || api.health.leaving) return;
    tell('The server was restarted; your search is repeated.');
    delete sessionStorage.restarted;
  },
  async changed() {
    page.run = await api.get('about');
    drawHeader();
    Object.values(mounted).forEach(panel => panel.changed?.());
    loadNames().catch(() => {});
  },
  isView: name => document.documentElement.classList.contains(name),
  setView(name, on) {
    document.documentElement.classList.toggle(name, on);
    address.set({[name]: on ? '1' : ''}, {replace: true});
  },
};

// Header

const site = new URL(document.baseURI).pathname.replace(/\/run\/[^/]*\/?$/, '/');
const drawHeader = () => {
  const {name, runs, facts, examples, about, login} = page.run;
  const presenter = button({title: 'Large type, without settings'}, clicked => {
    page.setView('present', !page.isView('present'));
    clicked.textContent = page.isView('present') ? 'Leave presenter view' : 'Presenter view';
  }, page.isView('present') ? 'Leave presenter view' : 'Presenter view');
  const theme = button({title: 'Light, dark, or as this device has it'}, clicked => {
    const next = {auto: 'light', light: 'dark', dark: 'auto'}[localStorage['genius-theme'] ?? 'auto'];
    localStorage['genius-theme'] = next;
    setTheme();
    clicked.textContent = `Theme: ${next}`;
  }, `Theme: ${localStorage['genius-theme'] ?? 'auto'}`);
  const guides = node('div', {class: 'guides'},
    ...runs.length ? [menu(name, {'aria-label': `Run: ${name}`}, node('nav', {'aria-label': 'Run'}, node('ul', {class: 'runs'}, ...runs.map(run =>
      node('li', {}, node('a', {href: `${site}run/${encodeURIComponent(run)}/`, ...run === name ? {'aria-current': 'page'} : {}}, run))))))] : [],
    ...examples.length ? [button({title: 'A guided tour, about two minutes'}, () => address.set({tour: '1'}), 'Tour')] : [],
    menu('⋯', {'aria-label': 'More'}, presenter, theme,
      ...about ? [button({title: 'What it holds, and what an ID is'}, openAbout, 'About this collection')] : [],
      ...login ? [node('a', {class: 'sign-out', href: 'logout'}, 'Log out')] : [],
      node('ul', {class: 'facts'}, ...facts.map(fact => node('li', {}, fact)))));
  replace(document.getElementById('header'), [
    node('a', {class: 'logo', href: document.baseURI.split('?')[0], 'aria-label': 'GENIUS Explorer, start'}, node('i'), node('i'), node('i')),
    node('h1', {}, 'GENIUS Explorer'),
    node('nav', {id: 'tabs', role: 'tablist', 'aria-label': 'Parts of the page'}, ...Object.values(tabs)), guides]);
};
const openAbout = async () => {
  closeMenus();
  const {draw} = await import('./about.js');
  const part = document.getElementById('about');
  part.hidden = false;
  replace(part, draw(page.run, () => { part.hidden = true; }));
  part.querySelector('button').focus();
};
const setTheme = () => {    // links that were made for Gradio's page name it
  const theme = new URL(location).searchParams.get('__theme') ?? localStorage['genius-theme'] ?? 'auto';
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event('theme'));
};

// Tabs

const shownTab = ({tab}) => tab in TABS ? tab : 'search';
const style = name => {
  if (document.getElementById(`style-${name}`)) return;
  document.head.append(node('link', {id: `style-${name}`, rel: 'stylesheet', href: `static/${version}/${name}/${name}.css`}));
};
const load = async name => {
  if (!(name in mounted)) {
    style(name);
    const {mount} = await import(`../${name}/${name}.js`);
    mounted[name] ??= mount(roots[name], page);
  }
  return mounted[name];
};
const title = (tab, given) => {
  const what = {search: page.last?.title && (given.q || given.item || given.example) ? page.last.title : '', codes: given.code?.replaceAll('.', ' · ')}[tab];
  document.title = [what, tab === 'search' ? '' : TABS[tab], 'GENIUS Explorer'].filter(Boolean).join(' – ');
};
const update = async given => {
  const tab = shownTab(given);
  for (const name of Object.keys(TABS)) {
    roots[name].hidden = name !== tab;
    tabs[name].setAttribute('aria-selected', String(name === tab));
    tabs[name].tabIndex = name === tab ? 0 : -1;
  }
  title(tab, given);
  try {
    const panel = await load(tab);
    if (shownTab(address.get()) === tab) await panel.update(address.get());
    title(tab, address.get());
    fillMeanings();
    if (document.querySelector(NAMED)) await wantNames();
  } catch (error) { fail(error); }
  if (given.tour || tour) await showTour();
};
const showTour = async () => {
  style('tour');
  const {mount} = await import('../tour/tour.js');
  tour ??= mount(document.getElementById('tour'), page);
  await tour.update();
};

// Keys, and what lies over the page

const BARS = '#chips, #summary .answer-line, #tabs, #target', STOPS = 'button, summary, input';
document.addEventListener('keydown', event => {
  const {key, target} = event;
  if (key === 'Escape') closeMenus();
  const card = target.closest?.('#cards .card'), bar = card ?? target.closest?.(BARS);
  if (!bar || target.closest('.menu .choices, .popover > div') || target.matches('[type=range], [type=text]')) return;
  const seen = (part, stops) => [...part.querySelectorAll(stops)].filter(one => one.checkVisibility() && !one.disabled);
  const all = card ? seen(document.getElementById('cards'), '.title') : seen(bar, STOPS);
  const row = card ? all.findIndex(one => one.closest('.card').offsetTop !== all[0].closest('.card').offsetTop) : 1;
  const by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -Math.max(1, row), ArrowDown: Math.max(1, row)}[key];
  const next = by && all[all.indexOf(card ? card.querySelector('.title') : target) + by];
  if (!next) return;
  event.preventDefault();
  next.focus();
  if (next.matches('[role=tab], [type=radio]')) next.click();
});
document.addEventListener('pointerdown', ({target}) => closeMenus(target));
document.querySelector('.skip').addEventListener('click', () => {
  const results = document.getElementById('results') ?? document.getElementById('main');
  results.tabIndex = -1;
  results.focus();
});

// Start

const begin = async () => {
  const asked = new URL(location).searchParams;
  for (const name of VIEWS) document.documentElement.classList.toggle(name, asked.has(name) || name === 'numbers' && localStorage['genius-numbers'] === '1');
  setTheme();
  for (const [name, label] of Object.entries(TABS)) {
    tabs[name] = button({id: `tab-${name}-button`, role: 'tab', 'aria-controls': `tab-${name}`}, () => page.open(name), label);
    roots[name] = node('section', {id: `tab-${name}`, role: 'tabpanel', 'aria-labelledby': `tab-${name}-button`, hidden: ''});
    document.getElementById('main').append(roots[name]);
  }
  page.run = await api.get('about');
  drawHeader();
  address.listeners.add(given => { update(given); });
  api.health.listeners.add(alive => {
    document.documentElement.classList.toggle('gone', !alive);
    if (!alive) tell('The server does not answer. What is shown may be old.');
    else { quiet(); tell('The server answers again.'); }
  });
  takeAnywhere(async file => {
    const tab = shownTab(address.get()) === 'compare' ? 'compare' : 'search';
    if (shownTab(address.get()) !== tab) page.open(tab);
    (await load(tab)).take(file);
  });
  await update(address.get());
  document.documentElement.dataset.ready = '';
};
begin().catch(fail);
