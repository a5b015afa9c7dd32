// How the ID and the results change from the query to one of its results.
import {smallItem} from '../page/items.js';
import {button, chips, node, reveal, scrollRegion, tableOf} from '../page/nodes.js';

// The codes of an ID; those it shares from the start with the query's best ID, and with the item's own, are marked.
const mixed = ({codes, query, item}) => chips({codes, marks: level => `${level < query ? ' of-query' : ''}${level < item ? ' of-item' : ''}`});

// How the IDs of both ends narrow the collection down, one below the other, level by level.
const other = ({code, name, prefix, probability}) => node('li', {class: 'other'}, node('span', {class: 'code', 'data-prefix': prefix}, name ? `${code} ${name}` : String(code)), ` ${probability}`);
const level = (items, before) => ({code, items: left, rows, others, settled}, at) => {
  const ends = before.slice(0, at + 1).every(Boolean) ? 'of-query of-item' : '';
  return node('td', {class: settled ? 'settled' : ''},
    node('span', {class: `code ${ends}`, 'data-prefix': code.prefix}, code.name ? `${code.code} ${code.name}` : String(code.code)),
    ...settled || code.name ? [] : [node('span', {class: 'meaning', 'data-meaning': code.prefix})],
    ...settled ? [] : [node('span', {class: 'figure'}, code.probability), node('b', {}, left),
      node('ul', {}, ...rows.map(row => items[row]).slice(0, 3).map(one => node('li', {class: one.modality}, one.picture ? node('img', {src: one.picture, alt: one.label, title: one.label})
        : node('span', {class: 'excerpt', title: one.text}, one.text)))),
      ...others.length ? [node('ul', {class: 'others', 'aria-label': 'Other codes'}, ...others.map(other))] : []]);
};
const narrowed = (strips, items) => {
  if (strips.length < 2) return [];
  const same = strips[0].columns.map(({code}, at) => code.code === strips[1].columns[at]?.code.code);
  const longest = strips.map(({columns}) => columns).sort((one, two) => two.length - one.length)[0];
  return [scrollRegion('How both IDs were generated', 'scroll both',
    node('table', {}, node('caption', {}, 'How both IDs were generated: each code, its probability, the items still possible, and other codes'),
      node('thead', {}, node('tr', {}, node('td'), ...longest.map(({head}) => node('th', {scope: 'col'}, head)))),
      node('tbody', {}, ...strips.map(({name, columns}) => node('tr', {}, node('th', {scope: 'row'}, name), ...columns.map(level(items, same)))))))];
};

export const blend = ({query, item, steps, items, strips}, close) => {
  const best = node('p', {class: 'best', 'aria-live': 'polite'}), found = node('ol', {class: 'row'});
  const weight = node('output', {for: 'blend-weight'});
  const cells = node('div', {class: 'strip', 'aria-hidden': 'true'}, ...steps.map(({same}) => node('i', {class: same ? '' : 'another'})));
  const slider = node('input', {id: 'blend-weight', type: 'range', min: 0, max: steps.length - 1, value: Math.floor(steps.length / 2)});
  const show = () => {
    const step = steps[slider.value];
    weight.textContent = step.weight;
    slider.setAttribute('aria-valuetext', `${step.weight} of the query`);
    best.replaceChildren(node('span', {class: 'label'}, 'Best generated ID '), mixed(step));
    found.replaceChildren(...step.rows.map(row => smallItem(items[row], row === item)));
    [...cells.children].forEach((cell, place) => cell.classList.toggle('here', place === Number(slider.value)));
  };
  slider.addEventListener('input', show);
  show();
  const made = node('section', {class: 'blend box', 'aria-label': 'Blend'},
    node('div', {class: 'top'}, node('h2', {'data-announced': `Blend of the query with ${items[item].label}`}, 'Blend with a result'), button({class: 'plain'}, close, 'Close')),
    node('p', {class: 'label'}, 'A mixture of the query and this result is searched (the paper’s Eq. 11). Move the slider: the ID changes code by code, from that of the query to that of the result.'),
    node('div', {class: 'ends'}, node('p', {class: 'end of-query'}, query),
      node('div', {class: 'way'}, node('label', {for: 'blend-weight'}, 'Weight of the query ', weight), slider, cells),
      node('ul', {class: 'end of-item'}, smallItem(items[item], true))),
    ...narrowed(strips, items), best,
    node('p', {class: 'note'}, 'First codes as in the ID of the ', node('span', {class: 'code of-query'}, 'query'), ', the ', node('span', {class: 'code of-item'}, 'result'), ', or ',
      node('span', {class: 'code of-query of-item'}, 'both'), '.'), found,
    node('details', {}, node('summary', {}, 'All weights as a table'), scrollRegion('Generated ID by weight', 'scroll',
      tableOf(['weight', 'best generated ID'], steps.map(step => node('tr', {}, node('td', {class: 'figure'}, step.weight), node('td', {}, mixed(step))))))));
  requestAnimationFrame(() => reveal(made, 'nearest'));
  return [made];
};
