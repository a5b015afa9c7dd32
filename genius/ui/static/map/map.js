// The map: contents at the left, the points in the middle, at the right what is chosen. The
// address holds what is chosen, how many codes are kept and what the colors are.
import {button, node, replace, saveFile} from '../page/nodes.js';
import {itemCard} from '../page/items.js';
import {plotly} from '../page/figure.js';
import {findBar, keepBar, settingsBar, toolBar} from './bars.js';
import {chosenView, explained, saving} from './chosen.js';
import {contents} from './contents.js';
import {readMap} from './data.js';
import {glow} from './glow.js';
import {names} from './names.js';
import {savePicture, slide} from './slide.js';
import {GREY, stage} from './stage.js';

const CHOICES = ['region', 'code', 'dataset', 'date', 'words', 'items', 'area'];
const KINDS = ['image', 'text', 'pair'];
const MOSTLY = 0.3; // share of a region that is chosen, so that its name stays strong
const DWELL = 120; // milliseconds until the item under the mouse is shown
const ABOUT = 'All items; near means alike. Arrow keys move, + and − zoom, 0 shows everything; '
  + 'the contents name what there is.';

export const mount = (root, page) => {
  const at = {
    find: node('div', {id: 'map-find'}),
    contents: node('nav', {'aria-label': 'Contents'}),
    settings: node('div', {id: 'map-settings'}),
    host: node('div', {id: 'map-stage', tabindex: '0', role: 'application', 'aria-label': ABOUT}),
    tools: node('div', {id: 'map-tools', class: 'choices'}),
    hint: node('div', {id: 'map-hint', class: 'box', hidden: ''}),
    keep: node('form', {id: 'map-keep', class: 'box'}),
    panel: node('section', {id: 'map-panel', 'aria-label': 'What is chosen'}),
  };
  root.replaceChildren(node('div', {class: 'map'},
    node('aside', {class: 'map-left'}, at.find, at.contents, at.settings),
    node('div', {class: 'map-middle'}, at.host, at.tools, at.hint, at.keep), at.panel));
  let map, drawn, list, labels, coloring, starting = null, version = 0;
  let found = null, chosen = '', kept, card = null; // what is shown
  let results = null, glowing = null; // the last search that was asked for, and what glows of it

  const set = changes => page.address.set(changes);
  const choiceOf = given =>
    Object.fromEntries(CHOICES.filter(name => given[name]).map(name => [name, given[name]]));
  const none = Object.fromEntries(CHOICES.map(name => [name, '']));
  const choose = (changes, add = false) => set({...add ? {} : none, ...changes});
  const style = name => getComputedStyle(root).getPropertyValue(name).trim();
  const isDark = () => getComputedStyle(document.documentElement).colorScheme === 'dark';
  const tones = ink => coloring.by === 'region' ? map.colors : map.regions.map(() => ink);

  const start = async () => {
    map = await readMap(page);
    if (map.missing) {
      root.replaceChildren(node('div', {class: 'empty'}, node('h2', {}, 'No map to show'),
        node('p', {}, map.missing), node('p', {}, 'It is made once a run, in a few minutes:'),
        node('p', {}, node('code', {}, map.command))));
      return;
    }
    const keepRegion = region => choose({region});
    list = contents(map.regions, map.colors, keepRegion);
    at.contents.replaceChildren(node('h2', {class: 'label'}, 'Contents'), list.list);
    findBar(at.find, page.address.get().words ?? '', choose);
    const area = corners => {
      const numbers = corners.flat().map(value => value.toFixed(3));
      choose({area: numbers.join(',')}, true);
    };
    const point = number => show('map/point', {number});
    drawn = stage(await plotly(), at.host, {moved, hover, point, area});
    drawn.set({count: map.kinds.length, kinds: map.kinds, hidden: new Set(), mask: null});
    labels = names(drawn, map.regions, page.picture, keepRegion);
    toolBar(at.tools, at.host, drawn);
  };

  const update = async given => {
    const mine = version += 1, depth = Number(given.keep || 0);
    await (starting ??= start());
    if (map.missing) return;
    const choice = choiceOf(given), wanted = JSON.stringify(choice), isNew = wanted !== chosen;
    const [places, colors, next] = await Promise.all([
      map.places(depth), map.coloring(given.color || 'region'),
      !isNew ? found : wanted === '{}' ? null : map.chosen(choice, depth),
    ]);
    if (mine !== version) return;
    [found, chosen, coloring] = [next, wanted, colors];
    if (isNew) card = null;
    const faint = isDark() ? 0.12 : 0.22;
    const hidden = new Set((given.without ?? '').split(',').map(name => KINDS.indexOf(name)));
    drawn.set({
      mask: found?.mask ?? null, colors: colors.of, palette: colors.palette, faint, hidden,
    });
    if (kept === undefined) drawn.set({places});
    await drawn.redraw();
    if (kept !== undefined && kept !== depth) await drawn.travel(places);
    if (mine !== version) return;
    if (kept !== depth) labels.locate(places, map.of, map.lineage);
    kept = depth;
    if (isNew && found && !given.area) drawn.fit(found.points);
    settingsBar(at.settings, map, drawn, coloring, choose, set);
    keepBar(at.keep, map, depth, set);
    drawPanel();
    moved();
    at.host.dataset.ready = String(mine);
    if (page.last && results !== page.last) showResults().catch(page.fail);
  };

  let frame = 0;
  const moved = () => {
    if (frame || kept === undefined) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      const {region = ''} = page.address.get();
      labels.place(tones('var(--ink)'), number => found !== null && found.shares[number] < MOSTLY);
      list.mark(labels.onScreen(), region === '' ? null : Number(region));
      glowing?.place();
    });
  };

  const partsOf = given => {
    const label = {
      region: number => map.regions[number]?.name || 'mixed',
      code: key => `code ${key.replaceAll('.', ' · ')}`,
      dataset: number => map.datasets.find(one => String(one.number) === number)?.name ?? number,
      items: ids => ids.includes(',') ? `${ids.split(',').length} results` : 'one item',
      area: () => 'area',
    };
    return Object.entries(choiceOf(given)).map(([name, value]) => ({
      name, label: label[name]?.(String(value)) ?? value, drop: () => choose({[name]: ''}, true),
    }));
  };

  const drawPanel = () => {
    if (card) {
      const back = button({class: 'link', id: 'map-back'}, () => {
        card = null;
        drawPanel();
      }, '‹ Back');
      return replace(at.panel, [back, itemCard(card, {open, page})]);
    }
    const parts = partsOf(page.address.get());
    if (!found) {
      const depth = kept, title = glowing && page.last ? page.last.title : null;
      const keepResults = () => choose({items: glowing.items.join(',')});
      const hideResults = () => {
        glowing.end();
        glowing = null;
        drawPanel();
      };
      return replace(at.panel, [...explained({
        map, depth, glowing: title, choose, set, keepResults, hideResults,
      }), ...saving(save)]);
    }
    const title = parts.map(({label}) => label).join(' + ');
    const said = parts.filter(({name}) => name === 'words' || name === 'region');
    const words = said.map(({label}) => label).join(' ')
      || found.words.slice(0, 2).map(({word}) => word).join(' ');
    const first = [...found.tiles, ...found.texts][0];
    const search = () => page.ask(words ? {q: words} : {item: first.id});
    const all = () => choose({});
    const items = form => page.get('map/chosen', {...choiceOf(page.address.get()), keep: kept, form})
      .then(saveFile).catch(page.fail);
    replace(at.panel, [
      ...chosenView({found, title, parts, page, open, search, save: items, all}), ...saving(save),
    ]);
  };

  const show = async (path, parameters) => {
    try {
      card = await page.get(path, parameters);
      drawPanel();
    } catch (error) {
      page.fail(error);
    }
  };
  const open = id => show(`items/${encodeURIComponent(id)}`, {});

  const save = kind => {
    const [ink, paper] = [style('--ink'), style('--paper')];
    const title = `${page.run.name}: ${map.sentence}${kept ? `, ${kept} codes kept` : ''}`;
    const points = {...drawn.state, camera: drawn.camera}, shown = labels.shown();
    const svg = slide({points, names: shown, tones: tones(ink), title, ink, paper, grey: GREY});
    savePicture(svg, kind).catch(page.fail);
  };

  const showResults = async () => {
    results = page.last;
    glowing?.end();
    glowing = null;
    const answer = await page.call('map_results', {search: results.search});
    glowing = glow(drawn, answer);
    drawPanel();
    moved();
  };

  // What is under the mouse.
  let hovered = -1, waiting;
  const hover = (point, [x, y] = []) => {
    if (point === hovered) return;
    hovered = point;
    clearTimeout(waiting);
    at.hint.hidden = true;
    at.host.style.cursor = point >= 0 ? 'pointer' : '';
    if (point >= 0) waiting = setTimeout(() => hint(point, x, y).catch(page.fail), DWELL);
  };
  const hint = async (point, x, y) => {
    const {picture, text, label} = await page.get('map/point', {number: point});
    if (hovered !== point) return;
    at.hint.replaceChildren(...picture ? [node('img', {src: picture, alt: ''})] : [],
      node('p', {}, text || label));
    at.hint.hidden = false;
    const [width, height] = drawn.size, above = y > height / 2;
    at.hint.style.left = `${Math.min(x + 14, width - 200)}px`;
    at.hint.style.top = `${above ? y - at.hint.offsetHeight - 14 : y + 14}px`;
  };

  return {
    update: given => update(given).catch(page.fail),
    changed() {
      starting = null;
      kept = undefined;
      chosen = '';
      results = null;
      if (root.checkVisibility()) update(page.address.get()).catch(page.fail);
    },
  };
};
