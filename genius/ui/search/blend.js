// The codes of an ID; those it shares from the start with the query's best ID, and with the item's own, are marked.
const mixed = ({codes, query, item}) => node('span', {class: 'codes'}, ...codes.flatMap((code, level) => [
  node('span', {class: 'level'},
    node('span', {class: `code${level < query ? ' of-query' : ''}${level < item ? ' of-item' : ''}`}, String(code)),
    level + 1 < codes.length ? ' ·' : ''), ' ']));

const tile = ({name, kind, text, label, picture, provenance}, chosen) => node('li',
  {class: `small ${kind}${chosen ? ' chosen' : ''}`},
  picture ? node('img', {src: picture, alt: text || label}) : node('p', {class: 'excerpt'}, text),
  node('span', {class: 'label'}, name), ...creditLine(provenance));

// One cell for each weight; a gap where another ID is generated.
const strip = steps => node('div', {class: 'strip', 'aria-hidden': 'true'}, ...steps.map(({same}) =>
  node('i', {class: same ? '' : 'another'})));

const table = steps => node('details', {},
  node('summary', {}, 'All weights as a table'),
  node('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Generated ID by weight'},
    node('table', {},
      node('thead', {}, node('tr', {}, ...['weight', 'best generated ID'].map(name =>
        node('th', {scope: 'col'}, name)))),
      node('tbody', {}, ...steps.map(step => node('tr', {},
        node('td', {class: 'figure'}, step.weight), node('td', {}, mixed(step))))))));

const draw = value => {
  if (!value) return [];
  const {query, item, steps, items} = value;
  const best = node('p', {class: 'best', 'aria-live': 'polite'}), found = node('ol', {class: 'row'});
  const weight = node('output', {for: 'blend-weight'}), cells = strip(steps);
  const slider = node('input', {id: 'blend-weight', type: 'range', min: 0, max: steps.length - 1,
    value: Math.floor(steps.length / 2)});
  const show = () => {
    const step = steps[slider.value];
    weight.textContent = step.weight;
    slider.setAttribute('aria-valuetext', `${step.weight} of the query`);
    best.replaceChildren(node('span', {class: 'label'}, 'Best generated ID '), mixed(step));
    found.replaceChildren(...step.rows.map(row => tile(items[row], row === item)));
    [...cells.children].forEach((cell, place) => cell.classList.toggle('here', place === Number(slider.value)));
  };
  slider.addEventListener('input', show);
  show();
  const close = node('button', {type: 'button', class: 'plain'}, 'Close');
  close.addEventListener('click', () => trigger('closed', {}));
  requestAnimationFrame(() => genius.reveal(element, 'nearest'));
  return [node('section', {class: 'blend', 'aria-label': 'Blend'},
    node('div', {class: 'top'}, node('h2', {}, 'Blend with a result'), close),
    node('p', {class: 'label'}, 'A mixture of the query and this result is searched (the paper’s Eq. 11). Move the slider: the ID changes '
      + 'code by code, from that of the query to that of the result.'),
    node('div', {class: 'ends'},
      node('p', {class: 'end of-query'}, query),
      node('div', {class: 'way'}, node('label', {for: 'blend-weight'}, 'Weight of the query ', weight), slider, cells),
      node('ul', {class: 'end of-item'}, tile(items[item], true))),
    best,
    node('p', {class: 'note'}, 'First codes as in the ID of the ',
      node('span', {class: 'code of-query'}, 'query'), ', the ', node('span', {class: 'code of-item'}, 'result'),
      ', or ', node('span', {class: 'code of-query of-item'}, 'both'), '.'),
    found, table(steps))];
};
