const draw = value => {
  if (!value) return [];
  const {title, provenance, added, part, aim, sentence, weighed, address, match, notes, stages} = value;
  const parts = title ? [node('h2', {}, title), ...creditLine(provenance)] : [];
  if (part) parts.push(node('p', {class: 'marked'}, node('img', {src: part, alt: 'The marked part of your picture'}),
    'Only this part of your picture was searched.'));
  if (aim) parts.push(...firstCodes(aim));
  parts.push(node('p', {class: 'sentence', 'data-announced': ''}, sentence));
  if (added) parts.push(node('p', {class: 'own-question'}, 'You gave no instruction, so the page asked: ', node('b', {}, added)));
  parts.push(...[match, ...notes].filter(Boolean).map(note => node('p', {class: 'far', 'data-announced': ''}, note)));
  if (address) parts.push(node('p', {class: 'label address'}, address));
  parts.push(node('details', {class: 'times'}, node('summary', {}, 'Where the time went'),
    node('div', {class: 'bar thin', 'aria-hidden': 'true'},
      ...stages.map((stage, place) => node('i', {class: `stage${place}`, style: `width: ${100 * stage.share}%`}))),
    node('ul', {'aria-label': 'time per stage'}, ...stages.map((stage, place) =>
      node('li', {class: `stage${place}`}, `${stage.name} `, node('b', {}, stage.time), ` ${stage.note}.`))),
    ...weighed ? [node('p', {class: 'label'}, weighed)] : []));
  if (innerWidth < 768) requestAnimationFrame(() => element.scrollIntoView({block: 'start'}));
  return [node('section', {class: 'summary'}, ...parts)];
};
