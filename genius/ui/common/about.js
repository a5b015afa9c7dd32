const STANDS_FOR = [
  ['News', 'VisualNews, EDIS', 'scenes with towns and people, and their headlines'],
  ['Captions', 'MSCOCO', 'everyday pictures, five sentences each'],
  ['Fashion', 'Fashion200K, FashionIQ', 'garments, shop texts and wishes to change them'],
  ['Edits', 'CIRR', 'a scene and a sentence that changes it'],
  ['Look-alikes', 'NIGHTS', 'the same object at another time'],
  ['Encyclopedia', 'OVEN, InfoSeek, WebQA', 'invented objects with names, pages and questions'],
];

const paragraph = text => node('p', {}, text);
const address = path => `${(window.gradio_config?.root ?? location.origin).replace(/\/$/, '')}/${path}`;

const world = ({items}) => [
  node('h2', {}, 'A drawn world'),
  paragraph(`All ${items} items were drawn or written by a program: about seventy kinds of objects in `
    + 'twelve colors and eight patterns, in ten scenes, by day and by night.'),
  paragraph('There are no photographs, and all models that answer here were trained from scratch on this world.'),
  paragraph('Its ten datasets mirror those of the benchmark M-BEIR: query and target are a text, a picture or both.'),
  node('dl', {}, ...STANDS_FOR.map(([name, models, what]) => node('div', {},
    node('dt', {}, name), node('dd', {}, what, node('span', {class: 'label'}, ` · like ${models}`)))))];

const collection = ({title, held, paragraphs, ask, days}) => [
  node('h2', {}, title || 'This collection'),
  paragraph(`It holds ${held}.`),
  ...paragraphs.map(paragraph),
  node('h2', {}, 'What to try'),
  paragraph(`Upload a photograph and click a question below it${ask ? `, such as “${ask.replace(/\.$/, '')}”` : ''}. `
    + 'Other instructions give other results.'),
  paragraph('Or describe in words what you look for, or add words to a photograph.'),
  paragraph('“Why?” on a result shows how its ID was generated; “More like this” searches with it.'),
  ...days ? [paragraph(`Uploaded pictures are kept for up to ${days} days after their last use, so that the address of a `
    + 'search includes its picture.')]
    : [paragraph('Uploaded pictures are only used for your searches; their files are deleted after ten minutes without use.'),
      paragraph('A small copy of the last one stays in memory until you search for something else, or for up to an hour '
        + 'after you close this page.')]];

const draw = value => {
  if (!value) return [];
  const sources = value.credits ? [node('h2', {}, 'Sources'),
    node('p', {}, 'Where pictures and texts come from, with their licenses and photographers: ',
      node('a', {href: address('credits'), target: '_blank', rel: 'noopener noreferrer'}, 'list of credits'),
      '. The card of an item names its own.')] : [];
  const open = element.querySelector('details.about')?.open ? {open: ''} : {};    // drawn anew when items are added
  return [node('details', {class: 'about', ...open},
    node('summary', {}, value.world ? 'About this demo' : 'About this collection'),
    node('div', {class: 'chapters'},
      node('section', {}, ...value.world ? world(value) : collection(value), ...sources),
      node('section', {},
        node('h2', {}, 'What an ID is'),
        paragraph('An ID is a short sequence of codes. The first says whether an item is an image, a text or both (a pair).'),
        paragraph('The others tell its meaning from coarse to fine, so the IDs of similar items start alike.'),
        paragraph('A search writes the ID of what it expects, code by code; only existing IDs can be written.'),
        node('h2', {}, value.world ? 'Your own collection' : 'Your own pictures'),
        paragraph(value.world
          ? 'A folder of images, optionally with a CSV or JSONL file of texts, becomes a run of its own:'
          : 'A folder of your own pictures becomes searchable by words and by picture, on your own computer:'),
        node('pre', {tabindex: '0'}, value.commands.join('\n')),
        node('p', {class: 'label'}, value.world ? 'The README explains which records produce which tasks.'
          : 'The README explains how to add texts of your own.'))))];
};
