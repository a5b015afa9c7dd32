const shownItem = ({picture, text, label}) => picture ? node('img', {src: picture, alt: label, loading: 'lazy'})
  : node('span', {class: 'excerpt', title: text}, text || label);
const open = key => {
  genius.send.open_code(key);
  genius.reveal(document.getElementById('codes-summary'));
};

const found = ({key, pattern, words, level, items, figure, share, sure, strip}) => node('li', {},
  button({class: 'found box', 'data-key': key}, () => open(key),
    node('span', {class: 'head'}, node('b', {}, words || 'no common meaning'), node('span', {class: 'label'}, `similarity ${figure}`)),
    node('i', {class: 'under', style: `width: ${100 * share}%`}),
    node('span', {class: 'head'}, node('code', {}, pattern),
      node('span', {class: 'label'}, [level, items, sure].filter(Boolean).join(' · '))),
    node('span', {class: 'strip'}, ...strip.map(shownItem))));

const draw = value => !value ? [] : [node('section', {class: 'found-codes'},
  node('h2', {'data-announced': `${value.codes.length} codes`}, value.title), node('p', {class: 'label'}, value.note),
  value.codes.length ? node('ol', {}, ...value.codes.map(found)) : node('p', {}, 'No code has enough items.'))];
