const paragraph = text => node('p', {}, text);
const address = path => `${(window.gradio_config?.root ?? location.origin).replace(/\/$/, '')}/${path}`;

const collection = ({title, held, paragraphs, ask}) => [
  node('h2', {}, title || 'This collection'),
  paragraph(`It holds ${held}.`),
  ...paragraphs.map(paragraph),
  node('h2', {}, 'What to try'),
  paragraph(`Upload a photograph and click a question beside it${ask ? `, such as “${ask.replace(/\.$/, '')}”` : ''}. `
    + 'Other instructions give other results.'),
  paragraph('Or describe in words what you look for, or add words to a photograph.'),
  paragraph('“Why?” on a result says why it came; “Similar” searches with it.'),
  paragraph('Uploaded pictures are only used for your searches; their files are deleted after ten minutes without use.'),
  paragraph('A small copy of the last one stays in memory until you search for something else, or for up to an hour '
    + 'after you close this page.')];

const draw = value => {
  if (!value) return [];
  const sources = value.credits ? [node('h2', {}, 'Sources'),
    node('p', {}, 'Where pictures and texts come from, with their licenses and photographers: ',
      node('a', {href: address('credits'), target: '_blank', rel: 'noopener noreferrer'}, 'list of credits'),
      '. The card of an item names its own.')] : [];
  const open = element.querySelector('details.about')?.open ? {open: ''} : {};    // drawn anew when items are added
  return [node('details', {class: 'about', ...open},
    node('summary', {}, 'About this collection'),
    node('div', {class: 'chapters box'},
      node('section', {}, ...collection(value), ...sources),
      node('section', {},
        node('h2', {}, 'What an ID is'),
        paragraph('An ID is a short sequence of codes. The first says whether an item is an image, a text or both (a pair).'),
        paragraph('The others tell its meaning from coarse to fine, so the IDs of similar items start alike.'),
        paragraph('A search writes the ID of what it expects, code by code; only existing IDs can be written.'),
        node('h2', {}, 'Your own pictures'),
        paragraph('A folder of your own pictures becomes searchable by words and by picture, on your own computer:'),
        node('pre', {tabindex: '0'}, value.commands.join('\n')),
        node('p', {class: 'label'}, 'The README explains how to add texts of your own.'))))];
};
