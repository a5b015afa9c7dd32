const draw = value => value ? [node('div', {class: `verdict ${value.well ? 'well' : 'warns'}`, role: 'status'},
  ...value.sentences.map(sentence => node('p', {}, sentence)))] : [];
