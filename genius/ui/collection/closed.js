const draw = ({commands: [page, ...shell]}) => [node('section', {class: 'collection-closed'},
  node('h2', {}, 'Adding items'),
  node('p', {}, 'Items are added without training: each is encoded and quantized, and the next search finds it. '
    + 'Editing is disabled on this page; to enable it, start the page with'),
  node('pre', {tabindex: '0', 'aria-label': 'Command that allows editing'}, page),
  node('p', {}, 'The command line works at any time, and this page picks up the change:'),
  node('pre', {tabindex: '0', 'aria-label': 'Commands that edit the collection'}, shell.join('\n')))];
