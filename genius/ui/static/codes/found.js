// Codes that were found, or that are near to another one: name, number of items, and some of these.
import {button, node, written} from '../page/nodes.js';

// Pictures, and where there are few of them a text.
const strip = tiles => {
  const pictures = tiles.filter(({picture}) => picture),
    texts = tiles.filter(({picture}) => !picture).slice(0, pictures.length < 3 ? 1 : 0);
  return node(
    'span',
    {class: 'strip'},
    ...pictures.map(({picture, label}) => node('img', {src: picture, alt: label, loading: 'lazy'})),
    ...texts.map(({text, label}) => node('span', {class: 'excerpt', title: text}, text || label)),
  );
};

export const foundCodes = ({title, note, codes}, open) => {
  const found = ({key, pattern, label, checked, items, fitting, similarity, tiles}) => {
    const share = fitting === null ? Math.max(similarity, 0) : fitting / items,
      under = node('i', {class: 'under', 'aria-hidden': 'true'});
    under.style.width = `${100 * Math.min(share, 1)}%`;
    return node(
      'li',
      {},
      button(
        {class: 'found box', 'data-key': key, 'data-prefix': key},
        () => open(key),
        node('span', {class: 'head'}, node('b', {}, label), node('code', {}, pattern)),
        under,
        node(
          'span',
          {class: 'label'},
          fitting === null
            ? `${written(items)} items · similarity ${similarity.toFixed(2)}`
            : `${written(fitting)} of ${written(items)} items fit`,
          checked ? ` · name ${checked}` : '',
        ),
        strip(tiles),
      ),
    );
  };
  return node(
    'section',
    {class: 'found-codes'},
    node(
      'h3',
      {'data-announced': `${codes.length} codes`},
      title,
      node('span', {class: 'label'}, ` ${note}`),
    ),
    codes.length
      ? node('ol', {}, ...codes.map(found))
      : node('p', {}, 'No code has items that fit.'),
  );
};
