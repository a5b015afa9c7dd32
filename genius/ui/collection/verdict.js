const draw = value => value ? [node('div', {class: `verdict ${value.fits ? 'fits' : 'warns'}`, 'data-announced': ''},
  ...value.sentences.map(sentence => node('p', {}, sentence)))] : [];
