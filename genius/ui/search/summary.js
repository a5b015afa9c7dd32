const changeInstruction = () => {
  document.querySelector('#settings > .label-wrap:not(.open)')?.click();
  setTimeout(() => document.querySelector('#instruction input').focus(), 50);
};

const numbers = () => {
  const box = node('input', {type: 'checkbox'});
  box.checked = genius.isView('numbers');
  box.addEventListener('change', () => {
    genius.setView('numbers', box.checked);
    localStorage.setItem('genius-numbers', box.checked ? '1' : '');
  });
  return node('label', {title: 'Scores, codes, probabilities and times'}, box, ' Show numbers');
};

const tone = stage => `--tone: hsl(${240 - 50 * stage} 65% 58%)`;    // of the part of a search

const save = (files, address) => menu('Save', {}, ...files.map(saveButton),
  button({title: 'Save as one page with all pictures, which opens without this server'}, () => emit('save_page', {}), 'HTML'),
  ...address ? [node('p', {class: 'label address'}, address)] : []);

const draw = value => {
  if (!value) return [];
  const {heading, match, title, provenance, asked, reading, part, aim, sentence, weighed, address, notes = [], stages, exports} = value;
  if (scrollY) requestAnimationFrame(() => scrollTo({top: 0}));
  const answer = node('div', {class: 'answer-line'}, node('h2', {'data-announced': sentence}, heading));
  if (match) answer.append(node('span', {class: `match ${match.split(' ')[0]}`}, match));
  if (title) answer.append(node('span', {class: 'titled'}, title), ...creditLine(provenance));
  if (reading) answer.append(node('p', {class: 'asked'}, 'read as ', node('b', {}, reading.name),
    ...reading.left_out ? [` · left out: ${reading.left_out}`] : [], ' · instead: ',
    ...reading.others.flatMap(({reading: name, name: label}, place) => [...place ? [', '] : [],
      button({class: 'link', title: 'Search again for this'}, () => emit('reading', {reading: name}), label)])));
  else if (aim) answer.append(node('p', {class: 'asked'}, asked ? `asked: “${asked}” ` : 'no instruction ',
    button({class: 'link', title: 'Ask in other words, or for another kind of result'}, changeInstruction, 'change')));
  answer.append(node('span', {class: 'ways'}, numbers(), ...exports.length ? [save(exports, address)] : []));
  const parts = [answer];
  if (part) parts.push(node('p', {class: 'marked'}, node('img', {src: part, alt: 'The marked part of your picture'}),
    'Only this part of your picture was searched.'));
  parts.push(...notes.map(note => node('p', {class: 'far', 'data-announced': ''}, note)));
  parts.push(node('div', {class: 'expert box'}, ...aim ? firstCodes(aim) : [], node('p', {class: 'sentence'}, sentence),
    node('details', {class: 'times'}, node('summary', {}, 'Where the time went'),
      node('div', {class: 'bar thin', 'aria-hidden': 'true'},
        ...stages.map((stage, place) => node('i', {style: `${tone(place)}; width: ${100 * stage.share}%`}))),
      node('ul', {'aria-label': 'time per stage'}, ...stages.map((stage, place) =>
        node('li', {style: tone(place)}, `${stage.name} `, node('b', {}, stage.time), ` ${stage.note}.`))),
      ...weighed ? [node('p', {class: 'label'}, weighed)] : [])));
  return [node('section', {class: 'summary'}, ...parts)];
};
