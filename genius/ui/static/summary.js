const share = value => `width: ${100 * value}%`;

const draw = value => {
  if (!value) return [];
  const {label, targets, sentence, stages} = value;
  const bar = node('div', {class: 'bar', 'aria-hidden': 'true'},
    ...targets.map(target => node('i', {class: target.kind, style: share(target.share)})));
  const names = node('p', {class: 'targets'}, node('span', {class: 'label'}, `${label} `));
  targets.forEach((target, place) => {
    if (place) names.append(node('span', {class: 'dot'}, ' · '));
    names.append(node('span', {class: `target ${target.kind}${target.chosen ? ' chosen' : ''}`},
      `${target.name} ${target.probability}`));
  });
  const times = node('div', {class: 'times'},
    node('div', {class: 'bar thin', 'aria-hidden': 'true'},
      ...stages.map((stage, place) => node('i', {class: `stage${place}`, style: share(stage.share)}))),
    node('ul', {'aria-label': 'time per stage'}, ...stages.map((stage, place) =>
      node('li', {class: `stage${place}`}, `${stage.name} `, node('b', {}, stage.time)))));
  if (innerWidth < 768) requestAnimationFrame(() => element.scrollIntoView({block: 'start'}));
  return [node('section', {class: 'summary'}, names, bar,
    node('p', {class: 'sentence', role: 'status'}, sentence), times)];
};
