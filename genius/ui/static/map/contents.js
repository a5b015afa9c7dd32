// Contents of the map: its regions, nested, which mark what is on screen; a click keeps one and
// goes there.
import {button, node, written} from '../page/nodes.js';

export const contents = (regions, colors, choose) => {
  const below = number => regions.flatMap((region, at) => (region.parent === number ? [at] : []));
  const entries = new Map();
  const entry = number => {
    const {name, items, checked, tier} = regions[number];
    const made = button(
      {
        class: 'map-entry',
        'data-region': number,
        title: `${written(items)} items; ${name ? `“${name}” ${checked}` : checked}`,
      },
      () => choose(number),
      ...(tier === 0 ? [node('i', {class: 'dot', 'aria-hidden': 'true'})] : []),
      node('span', {class: 'words'}, name || 'mixed'),
      node('span', {class: 'number'}, written(items)),
    );
    made.style.setProperty('--tone', colors[number]);
    entries.set(number, made);
    return made;
  };
  const branch = number => {
    const parts = below(number).filter(part => regions[part].name);
    if (!parts.length || regions[number].tier > 0) return node('li', {}, entry(number));
    const list = node('ul', {hidden: ''});
    const turn = button(
      {
        class: 'map-turn',
        'aria-expanded': 'false',
        'aria-label': `Parts of ${regions[number].name || 'this region'}`,
      },
      () => open(turn.getAttribute('aria-expanded') !== 'true'),
      '▸',
    );
    const open = wanted => {
      turn.setAttribute('aria-expanded', String(wanted));
      list.hidden = !wanted;
      if (wanted && !list.children.length)
        list.append(...parts.map(part => node('li', {}, entry(part))));
    };
    const made = node(
      'li',
      {class: 'nested'},
      node('div', {class: 'row'}, turn, entry(number)),
      list,
    );
    made.open = open;
    return made;
  };
  const tops = regions.flatMap((region, number) => (region.tier === 0 ? [number] : []));
  const branches = new Map(tops.map(number => [number, branch(number)]));
  return {
    list: node('ul', {class: 'map-contents'}, ...branches.values()),
    // visible: whether each region is on screen; chosen: the number of a region, or null.
    mark(visible, chosen) {
      let top = chosen;
      while (top !== null && regions[top].parent !== null) top = regions[top].parent;
      if (top !== null && top !== chosen) branches.get(top).open?.(true);
      for (const [number, made] of entries) {
        made.classList.toggle('off', !visible[number]);
        made.toggleAttribute('aria-current', number === chosen);
      }
    },
  };
};
