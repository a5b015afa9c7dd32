// What stands round the map: the field that finds by words, how many codes are kept, tools, kinds
// and colors.
import {button, node, replace, written} from '../page/nodes.js';

const KIND_WORDS = {image: 'Pictures', text: 'Texts', pair: 'Pairs'};
const KIND_SIGNS = {image: '●', text: '■', pair: '◆'};

export const findBar = (root, words, choose) => {
  const name = 'Find on the map';
  const field = node('input', {
    type: 'search', placeholder: name, 'aria-label': name, maxlength: '200', value: words,
  });
  const form = node('form', {role: 'search'}, field);
  form.addEventListener('submit', event => {
    event.preventDefault();
    choose({words: field.value.trim()});
  });
  field.addEventListener('search', () => field.value || choose({words: ''}, true));
  root.replaceChildren(form);
};

export const keepBar = (root, map, depth, set) => {
  const view = map.views.find(({keep}) => keep === depth) ?? map.views[0];
  const stop = ({keep, label}, place) => {
    const checked = keep === depth ? {checked: ''} : {};
    const input = node('input', {type: 'radio', name: 'keep', value: keep, ...checked});
    input.addEventListener('change', () => set({keep: keep || ''}));
    const words = place < 2 ? label : node('span', {'aria-label': label}, String(keep));
    return node('label', {}, input, node('i', {'aria-hidden': 'true'}), words);
  };
  const two = map.views.find(({keep}) => keep === 2);
  const places = `${written(view.places)} ${view.places === 1 ? 'place' : 'places'}`;
  const few = two ? `; with 2 codes ${written(two.places)} places are left` : '';
  const sentence = depth
    ? `${written(map.drawn)} items on ${places}. Items that share their first `
      + `${depth === 1 ? 'code' : `${depth} codes`} lie together and cannot be told apart.`
    : `${map.sentence} on ${places}. Move right and items that share codes come together${few}.`;
  if (map.views.length < 2) {
    return root.replaceChildren(node('p', {class: 'sentence'}, map.sentence));
  }
  replace(root, [
    node('fieldset', {}, node('legend', {}, 'Keep'), ...map.views.map(stop)),
    node('p', {class: 'sentence', 'data-announced': sentence},
      node('b', {}, `${view.label}: `), sentence),
  ]);
};

export const toolBar = (root, host, drawn) => {
  const isTouched = matchMedia('(pointer: coarse)').matches;
  const usual = isTouched ? 'page' : 'move'; // a finger scrolls the page
  const tool = (sign, name, act, more = {}) =>
    button({class: 'box', 'aria-label': name, title: name, ...more}, act, sign);
  const setMode = mode => {
    drawn.set({mode});
    host.dataset.mode = mode;
    for (const one of root.querySelectorAll('[data-mode]')) {
      one.setAttribute('aria-pressed', String(one.dataset.mode === mode));
    }
  };
  const modeTool = (sign, name, mode) => tool(sign, name,
    () => setMode(drawn.state.mode === mode ? usual : mode),
    {'data-mode': mode, 'aria-pressed': 'false'});
  root.replaceChildren(
    tool('+', 'Closer', () => drawn.zoom(1.6)),
    tool('−', 'Farther', () => drawn.zoom(1 / 1.6)),
    tool('⌂', 'Everything in view', () => drawn.home()),
    ...isTouched ? [modeTool('✥', 'Move', 'move')] : [],
    modeTool('◌', 'Choose by drawing around', 'select'),
  );
  setMode(usual);
};

// Kinds, which are shapes; colors and what they mean; data sets and years.
export const settingsBar = (root, map, drawn, coloring, choose, set) => {
  const {hidden} = drawn.state;
  const kind = ({kind, items}, number) => {
    const act = () => {
      const without = new Set(hidden);
      if (!without.delete(number)) without.add(number);
      const names = map.counts.filter((_, place) => without.has(place)).map(({kind}) => kind);
      set({without: names.join(',')});
    };
    return button({class: `choice ${kind}`, 'aria-pressed': String(!hidden.has(number))}, act,
      node('span', {class: 'sign', 'aria-hidden': 'true'}, KIND_SIGNS[kind]),
      ` ${KIND_WORDS[kind]} `, node('span', {class: 'label'}, written(items)));
  };
  const color = name => button(
    {class: 'link', 'aria-pressed': String(coloring.by === name)},
    () => set({color: name === 'region' ? '' : name}), name);
  const legend = ({label, items, color, value}) => {
    const dot = node('i', {class: 'dot', 'aria-hidden': 'true'});
    dot.style.setProperty('--tone', color);
    const parts = [dot, node('span', {class: 'words'}, label),
      node('span', {class: 'number'}, written(items))];
    const choice = coloring.by === 'dataset' ? {dataset: value} : {code: `*.${value}`};
    return node('li', {}, value === undefined ? node('span', {class: 'map-entry'}, ...parts)
      : button({class: 'map-entry'}, () => choose(choice), ...parts));
  };
  const several = map.datasets.length > 1;
  const only = (label, choice) => button({class: 'choice'}, () => choose(choice, true), label);
  const limits = [
    ...several ? map.datasets.map(({number, name}) => only(name, {dataset: number})) : [],
    ...Object.keys(map.years).map(year => only(year, {date: year})),
  ];
  const colors = ['region', 'kind', 'code', ...several ? ['dataset'] : []];
  replace(root, [
    node('div', {class: 'map-kind-switches', role: 'group', 'aria-label': 'Kinds shown'},
      ...map.counts.flatMap((one, number) => one.items ? [kind(one, number)] : [])),
    node('p', {class: 'map-color'}, node('span', {class: 'label'}, 'Color: '),
      ...colors.flatMap((name, place) => [place ? ' · ' : '', color(name)])),
    ...coloring.legend.length
      ? [node('ul', {class: 'map-contents'}, ...coloring.legend.map(legend))] : [],
    ...limits.length ? [node('details', {class: 'fold'},
      node('summary', {}, 'Keep only …'), node('p', {class: 'choices'}, ...limits))] : [],
  ]);
};
