// What its codes mean, as far as that is known.
const meanings = codes => {
  const named = codes.map((_, level) => codes.slice(0, level + 1)).filter(prefix => genius.names[prefix.join('.')]);
  return named.length ? [folded('What its codes mean', node('ul', {}, ...named.map(prefix => node('li', {},
    node('b', {}, prefix.join(' · ')), ` ${genius.names[prefix.join('.')]}`))))] : [];
};

// Credit, license and origin, which becomes a link where it is an address.
const provenance = ({credit, licence, origin, link}) => node('dl', {class: 'facts'},
  ...[['Credit', credit], ['License', licence], ['Origin', origin]].filter(([, value]) => value).map(([name, value]) =>
    node('div', {}, node('dt', {}, name), node('dd', {}, name === 'Origin' && link
      ? node('a', {href: link, target: '_blank', rel: 'noopener noreferrer'}, value) : value))));

const factName = name => name.replaceAll('_', ' ').replace(/(\D)(\d+)$/, '$1 $2');    // color2 -> color 2

// Brings the card into view where its top is not, as below a map on a phone.
const revealCard = () => {
  const {top} = element.getBoundingClientRect();
  if (top < 0 || top > innerHeight - 200) genius.reveal(element, 'nearest');
};

const draw = item => {
  if (!item) return [];
  requestAnimationFrame(revealCard);
  const about = node('div', {class: 'facts-of'},
    node('p', {class: 'which'}, node('span', {class: `badge ${item.modality}`}, item.name), ` ${item.id}`));
  if (item.text) about.append(node('p', {class: 'words'}, item.text));
  about.append(prefixes(item.codes), ...meanings(item.codes));
  if (item.facts.length) about.append(node('dl', {class: 'facts'},
    ...item.facts.map(([name, value]) => node('div', {}, node('dt', {}, factName(name)), node('dd', {}, value)))));
  if (item.provenance) about.append(provenance(item.provenance));
  about.append(button({class: 'plain use'}, () => genius.send.ask({item: item.id}), 'Use as query'));
  const parts = [node('div', {class: 'whole'},
    ...item.picture ? [node('img', {src: item.picture, alt: item.text ? '' : item.label})] : [], about)];
  if (item.neighbours.length) parts.push(
    node('h3', {}, 'Most similar', node('span', {class: 'label'},
      item.exact ? ' among all items, with their similarity (cosine)' : ' among items with similar IDs, with their similarity (cosine)')),
    node('ol', {class: 'neighbours'}, ...item.neighbours.map(near => itemTile(near, () => emit('select', {id: near.id})))));
  return [node('article', {class: `itemcard box ${item.modality}`, 'aria-label': `Item ${item.label}`, 'data-announced': `Item ${item.label}`}, ...parts)];
};
