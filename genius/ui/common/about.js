const STANDS_FOR = [
  ['News', 'VisualNews, EDIS', 'scenes with towns and people, and their headlines'],
  ['Captions', 'MSCOCO', 'everyday pictures, five sentences each'],
  ['Fashion', 'Fashion200K, FashionIQ', 'garments, shop texts and wishes to change them'],
  ['Edits', 'CIRR', 'a scene and a sentence that changes it'],
  ['Look-alikes', 'NIGHTS', 'the same object at another time'],
  ['Encyclopedia', 'OVEN, InfoSeek, WebQA', 'invented objects with names, pages and questions'],
];

const draw = value => {
  if (!value) return [];
  return [node('details', {class: 'about'},
    node('summary', {}, 'About this demo'),
    node('div', {class: 'chapters'},
      node('section', {},
        node('h2', {}, 'A synthetic world'),
        node('p', {}, `All ${value.items} items were drawn or written by a program: about seventy kinds of objects in `
          + 'twelve colors and eight patterns, in ten scenes, by day and by night. There are no photographs, and all '
          + 'models were trained from scratch on this world.'),
        node('p', {}, 'Its ten datasets mirror those of the M-BEIR benchmark, so all eight of its tasks occur: the '
          + 'query is a text, a picture or both, and so is the target.'),
        node('dl', {}, ...STANDS_FOR.map(([name, models, what]) => node('div', {},
          node('dt', {}, name), node('dd', {}, what, node('span', {class: 'label'}, ` · like ${models}`)))))),
      node('section', {},
        node('h2', {}, 'What an ID is'),
        node('p', {}, 'An ID is a short sequence of codes. The first says whether an item is an image, a text or a '
          + 'pair; the others describe its meaning from coarse to fine, so the IDs of similar items start alike. A '
          + 'search generates the IDs of the items it expects, code by code, and only existing IDs can be generated.'),
        node('h2', {}, 'Your own collection'),
        node('p', {}, 'A folder of images, optionally with a CSV or JSONL file of texts, becomes a run of its own:'),
        node('pre', {tabindex: '0'}, value.commands.join('\n')),
        node('p', {class: 'label'}, 'The README explains which records produce which tasks.'))))];
};
