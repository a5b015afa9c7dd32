// Why a result came: in a sentence for everybody, and with numbers as its codes, its way and the beam tree.
import {figure} from '../page/figure.js';
import {fillMeanings} from '../page/names.js';
import {button, chips, creditLine, folded, node, scrollRegion, tableOf} from '../page/nodes.js';

const COLUMNS = ['Level', 'Beginning', 'Outcome', 'Rank', 'Probability of its code', 'log p so far', 'Items'];

// act: gets what to do with the result. close: ends the panel.
export const why = (value, {act, close, page}) => {
  const {title, item, plain, group, sentences, flags, note, ids, first_codes, steps, legend, tree, prefixes} = value;
  const levels = [...ids[0].codes.keys()];
  const code = (data, level) => {
    const shown = level ? String(data.codes[level]) : first_codes[data.codes[0]], className = `code${level < data.shared ? ' shared' : ''}`;
    if (!data.opens) return node('span', {class: className}, shown);
    const prefix = data.codes.slice(0, level + 1), hint = `Click to see the items whose ID begins with ${prefix.join(' · ')}.`;
    return button({class: className, 'data-hint': hint, 'data-prefix': prefix.join('.')}, () => page.openCode(prefix.join('.')), shown);
  };
  const identity = data => node('tr', {class: 'identity'}, node('th', {scope: 'row'}, data.name), ...levels.map(level => node('td', {}, code(data, level))));
  const step = ({name, figures}) => node('tr', {}, node('th', {scope: 'row'}, name), ...levels.map(level => node('td', {}, figures[level] ?? '–')));
  const does = (name, what) => button({}, clicked => act(what, clicked), name);
  const prefix = data => node('tr', {}, node('td', {class: 'place'}, String(data.level)), node('td', {}, button({class: 'link', title: 'Show its items in Codes'},
    () => page.openCode(data.codes.join('.')), chips({codes: data.codes, shared: data.shared, within: true}))), node('td', {}, data.fate),
  ...[data.place, data.step, data.log_prob, data.items].map(number => node('td', {class: 'figure'}, String(number))));
  const host = node('div', {id: 'why-tree', class: 'figure-host'});
  const table = node('details', {id: 'why-rows'}, node('summary', {}, 'The tree as a table'), scrollRegion('The tree as a table', 'scroll', tableOf(COLUMNS, prefixes.map(prefix))));
  // Drawn when it is seen: its script is large, and it shows with the numbers only.
  new IntersectionObserver(([{isIntersecting}], seen) => {
    if (!isIntersecting) return;
    seen.disconnect();
    figure(host, tree, {alternative: 'The beam tree: the ways to this result and to the best IDs. The table below has the same data.', onClick: page.openCode}).catch(page.fail);
  }, {rootMargin: '300px'}).observe(host);
  requestAnimationFrame(fillMeanings);
  return [node('section', {class: 'why', 'aria-label': title},
    node('h2', {}, `${title} `, node('span', {class: `badge ${item.modality}`}, item.name), button({class: 'close', 'aria-label': 'Close'}, close, '×')),
    node('div', {class: 'which'}, ...item.picture ? [node('img', {src: item.picture, alt: item.text ? '' : item.label})] : [],
      node('div', {}, node('p', {class: 'in-short', 'data-announced': ''}, plain), ...creditLine(item.provenance))),
    ...item.text ? [node('p', {class: 'words'}, item.text)] : [],
    node('div', {class: 'actions'}, does('Similar', 'similar'), ...item.picture ? [does('Use this picture', 'use')] : [], does('Blend', 'blend'),
      button({}, () => page.open('codes', {play: 'guess', item: item.id}), 'Guess it from its codes')),
    node('h3', {}, 'Where it belongs'),
    node('div', {class: 'actions'}, button({}, () => page.openCode(group.prefix), `${group.items} share `, node('span', {'data-short': group.prefix}, `the first ${group.codes} codes`), ' ▸'),
      button({}, () => page.openMap({code: group.prefix}), 'Show on the map ▸')),
    node('div', {class: 'expert'},
      node('h3', {}, 'Why it ranks here'), ...sentences.map(one => node('p', {class: 'sentence', 'data-announced': ''}, one)),
      node('ul', {class: 'pills'}, ...flags.map(flag => node('li', {}, flag))),
      scrollRegion('Its codes, level by level', 'scroll', tableOf(['Level', ...levels.map(String)], [...ids.map(identity), ...steps.map(step)])),
      node('p', {class: 'note'}, node('span', {class: 'code shared'}, 'Marked'), ': the first codes that an ID shares with this result; in this result’s own row, '
        + 'those it shares with the best generated ID. ', note),
      folded('What these numbers mean', node('p', {}, 'Probability: among all codes of the level. Ruled out: probability given to codes no item has. '
        + 'log p adds up the logarithms of the probabilities; 0 is certain. The score orders the IDs.')),
      node('h3', {}, 'Beam tree'),
      node('ul', {class: 'legend'}, node('li', {class: 'this'}, 'this result'), ...legend.map(fate => node('li', {class: fate.key}, fate.name)),
        node('li', {class: 'masked'}, 'probability given to codes no item has')),
      node('p', {class: 'note'}, 'The beginnings of IDs that the search followed at once (its beam). Each column is a level, the best on top; '
        + 'thicker lines are more probable codes. Click a point to see its items in Codes.'), host, table))];
};
