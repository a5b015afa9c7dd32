const draw = ({commands: [page, ...shell]}) => [node('section', {class: 'collection-closed'},
  node('h2', {}, 'It can grow'),
  node('p', {}, 'Items are added without training: each is encoded, its ID is read off the codebooks, and the next '
    + 'search finds it. On this page that is switched off; whoever runs it switches it on with'),
  node('pre', {tabindex: '0', 'aria-label': 'Command that allows editing'}, page),
  node('p', {}, 'From the command line it works at any time, and this page takes the change up by itself:'),
  node('pre', {tabindex: '0', 'aria-label': 'Commands that edit the collection'}, shell.join('\n')))];
