const draw = sentences => !sentences ? []
  : [node('div', {class: 'map-note', 'data-announced': ''}, ...sentences.map(words => node('p', {}, words)))];
