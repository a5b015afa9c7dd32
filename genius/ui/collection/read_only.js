const draw = ({commands: [serve, ...edit]}) => [node('section', {class: 'collection-read-only'},
  node('h2', {}, 'Adding items'),
  node('p', {}, 'New items need no training: each gets its ID at once, and the next search finds it. Editing is switched '
    + 'off on this page; to allow it, start the page with'),
  node('pre', {tabindex: '0', 'aria-label': 'Command that allows editing'}, serve),
  node('p', {}, 'The command line works at any time, and this page picks up the change:'),
  node('pre', {tabindex: '0', 'aria-label': 'Commands that edit the collection'}, edit.join('\n')))];
