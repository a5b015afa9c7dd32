// Each code is a button that opens all items with prefix the prefix that ends there.
const prefixes = codes => {
  const list = node('p', {class: 'codes', 'aria-label': 'ID'});
  codes.forEach((code, level) => {
    const prefix = codes.slice(0, level + 1), hint = `Click to see all items whose ID begins with ${prefix.join(' · ')}.`;
    const button = node('button', {type: 'button', class: 'code', 'data-prefix': prefix.join('.'), 'data-hint': hint}, String(code));
    button.addEventListener('click', () => emit('open_code', {codes: prefix}));
    list.append(node('span', {class: 'level'}, button, level + 1 < codes.length ? ' ·' : ''), ' ');
  });
  return list;
};

// What its codes mean, as far as that is known.
const meanings = codes => {
  const known = codes.map((_, level) => codes.slice(0, level + 1)).filter(prefix => genius.names[prefix.join('.')]);
  return known.length ? [folded('What its codes mean', node('ul', {}, ...known.map(prefix => node('li', {},
    node('b', {}, prefix.join(' · ')), ` ${genius.names[prefix.join('.')]}`))))] : [];
};

const neighbour = data => {
  const label = `${data.label}, similarity ${data.cosine}`;
  const button = node('button', {type: 'button', class: `near ${data.kind}`, title: data.text || label},
    data.picture ? node('img', {src: data.picture, alt: data.text || label})
      : node('span', {class: 'excerpt'}, data.text),
    node('span', {class: 'cosine'}, data.cosine));
  button.addEventListener('click', () => emit('select', {id: data.id}));
  return node('li', {}, button);
};

// Credit, license and origin, which becomes a link where it is an address.
const provenance = ({credit, licence, origin, link}) => node('dl', {class: 'facts'},
  ...[['Credit', credit], ['License', licence], ['Origin', origin]].filter(([, value]) => value).map(([name, value]) =>
    node('div', {}, node('dt', {}, name), node('dd', {}, name === 'Origin' && link
      ? node('a', {href: link, target: '_blank', rel: 'noopener noreferrer'}, value) : value))));

const spoken = name => name.replaceAll('_', ' ').replace(/(\D)(\d+)$/, '$1 $2');    // color2 -> color 2

// Where its beginning is out of view, as below a map on a phone.
const come = () => {
  const {top} = element.getBoundingClientRect();
  if (top < 0 || top > innerHeight - 200) genius.reveal(element, 'nearest');
};

const draw = item => {
  if (!item) return [];
  requestAnimationFrame(come);
  const ask = node('button', {type: 'button', class: 'use'}, 'Use as query');
  ask.addEventListener('click', () => emit('use_as_query', {id: item.id}));
  const about = node('div', {class: 'facts-of'},
    node('p', {class: 'which'}, node('span', {class: `badge ${item.kind}`}, item.name), ` ${item.id}`));
  if (item.text) about.append(node('p', {class: 'words'}, item.text));
  about.append(prefixes(item.codes), ...meanings(item.codes));
  if (item.facts.length) about.append(node('dl', {class: 'facts'},
    ...item.facts.map(([name, value]) => node('div', {}, node('dt', {}, spoken(name)), node('dd', {}, value)))));
  if (item.provenance) about.append(provenance(item.provenance));
  about.append(ask);
  const parts = [node('div', {class: 'whole'},
    ...item.picture ? [node('img', {src: item.picture, alt: item.text || item.label})] : [], about)];
  if (item.neighbours.length) parts.push(
    node('h3', {}, 'Most similar', node('span', {class: 'label'},
      item.exact ? ' among all items, with their similarity (cosine)' : ' among items with similar IDs, with their similarity (cosine)')),
    node('ol', {class: 'neighbours'}, ...item.neighbours.map(neighbour)));
  return [node('article', {class: `itemcard ${item.kind}`, 'aria-label': `Item ${item.label}`}, ...parts)];
};
