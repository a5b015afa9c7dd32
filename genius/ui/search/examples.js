const task = ({given, targets}) => {
  const line = node('span', {class: 'task'}, given, node('span', {class: 'arrow', role: 'img', 'aria-label': 'to'}, ' → '));
  targets.forEach((target, place) => {
    if (place) line.append(node('span', {class: 'dot'}, ' · '));
    line.append(node('b', {class: target.modality}, target.name));
  });
  return line;
};

// After a search the cards are one line, until they are unfolded.
const unfold = (strip, open) => {
  const all = strip.querySelector('.all');
  strip.classList.toggle('open', open);
  all.textContent = open ? 'Show fewer' : 'Show all';
  all.setAttribute('aria-expanded', String(open));
};

const example = (data, place) => {
  const run = card => {
    unfold(card.closest('.examples'), false);
    emit('select', {index: place, value: data.title});
  };
  return node('li', {}, button({class: 'example'}, run,
    data.picture ? node('img', {src: data.picture, alt: ''})
      : node('span', {class: 'quote', 'aria-hidden': 'true'}, '“'),
    node('span', {class: 'example-text'},
      node('span', {class: 'title'}, data.title),
      ...data.text ? [node('span', {class: 'example-query'}, `“${data.text}”`)] : [],
      ...data.instructions.map(words => node('span', {class: 'wanted'}, words)), task(data))));
};

const draw = value => {
  if (!value) return [];
  const strip = node('section', {class: 'examples', 'aria-label': 'Examples'});
  const all = button({class: 'all'}, () => unfold(strip, !strip.classList.contains('open')));
  strip.append(node('div', {class: 'top'}, node('h2', {}, 'Try one'),
    node('p', {}, 'One click runs it.'), all), node('ol', {}, ...value.cards.map(example)));
  unfold(strip, false);
  return [strip];
};
