const draw = value => value ? [node('div', {class: `verdict ${value.well ? 'well' : 'warns'}`, 'data-announced': ''},
  ...value.sentences.map(sentence => node('p', {}, sentence)))] : [];
