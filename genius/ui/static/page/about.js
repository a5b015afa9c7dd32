// What the collection is, what to try, and how to use a collection of one's own.
import {button, node} from './nodes.js';

const paragraph = text => node('p', {}, text);

export const draw = ({about: {title, paragraphs, held, ask, credits, commands}}, close) => [node('div', {class: 'chapters box'},
  node('section', {},
    node('h2', {}, title || 'This collection'), paragraph(`It holds ${held}.`), ...paragraphs.map(paragraph),
    node('h2', {}, 'What to try'),
    paragraph(`Upload a photograph and click a question beside it${ask ? `, such as “${ask.replace(/\.$/, '')}”` : ''}, or ask in your own words.`),
    paragraph('Or describe what you look for, or add words to a photograph.'),
    paragraph('“Why?” on a result says why it came; “Similar” searches with it.'),
    paragraph('Uploaded pictures are only used for your searches; their files are deleted after ten minutes without use.'),
    ...credits ? [node('h2', {}, 'Sources'), node('p', {}, 'Where pictures and texts come from, with their licenses and photographers: ',
      node('a', {href: 'credits', target: '_blank', rel: 'noopener noreferrer'}, 'list of credits'), '. The card of an item names its own.')] : []),
  node('section', {},
    node('h2', {}, 'What an ID is'),
    paragraph('An ID is a short sequence of codes. The first says whether an item is an image, a text or both (a pair).'),
    paragraph('The others tell its meaning from coarse to fine, so the IDs of similar items start alike.'),
    paragraph('A search writes the ID of what you want, code by code; only existing IDs can be written.'),
    node('h2', {}, 'Your own pictures'),
    paragraph('A folder of your own pictures becomes searchable by words and by picture, on your own computer:'),
    node('pre', {tabindex: '0'}, commands.join('\n')),
    node('p', {class: 'label'}, 'The README explains how to add texts of your own, and which of the paper’s tables are measured.'),
    button({class: 'plain'}, close, 'Close')))];
