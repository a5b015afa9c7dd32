const STANDS_FOR = [
  ['News', 'VisualNews, EDIS', 'scenes with towns and people, and their headlines'],
  ['Captions', 'MSCOCO', 'everyday pictures, five sentences each'],
  ['Fashion', 'Fashion200K, FashionIQ', 'garments, shop texts and wishes to change them'],
  ['Edits', 'CIRR', 'a scene and a sentence that changes it'],
  ['Look-alikes', 'NIGHTS', 'the same thing at another time'],
  ['Encyclopedia', 'OVEN, InfoSeek, WebQA', 'invented things with names, pages and questions'],
];

const draw = value => {
  if (!value) return [];
  return [node('details', {class: 'about'},
    node('summary', {}, 'About this demo'),
    node('div', {class: 'chapters'},
      node('section', {},
        node('h2', {}, 'A drawn world'),
        node('p', {}, `Every one of the ${value.items} items here was drawn or written by a program: some seventy `
          + 'kinds of things in twelve colours and eight patterns, in ten scenes, by day and by night. There are no '
          + 'photographs, and all models were trained on this world from scratch.'),
        node('p', {}, 'Its ten datasets stand for those of the M-BEIR benchmark, so all eight tasks are asked: a '
          + 'text, a picture or both, to find a text, a picture or both.'),
        node('dl', {}, ...STANDS_FOR.map(([name, models, what]) => node('div', {},
          node('dt', {}, name), node('dd', {}, what, node('span', {class: 'label'}, ` · like ${models}`)))))),
      node('section', {},
        node('h2', {}, 'What an ID is'),
        node('p', {}, 'An ID is a short row of codes: the first says whether an item is an image, a text or a pair, '
          + 'the others tell its meaning from coarse to fine, so that what is alike begins alike. A search writes '
          + 'the IDs of what it expects, code by code, and only IDs that exist can be written.'),
        node('h2', {}, 'Your own collection'),
        node('p', {}, 'A folder of images, with a CSV or JSONL of texts where there is one, becomes a run of its '
          + 'own:'),
        node('pre', {tabindex: '0'}, value.commands.join('\n')),
        node('p', {class: 'label'}, 'The README says which records give which tasks.'))))];
};
