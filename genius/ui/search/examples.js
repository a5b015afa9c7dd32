const task = ({given, targets}) => node('span', {class: 'task'}, given, node('span', {role: 'img', 'aria-label': 'to'}, ' → '),
  ...dotted(targets.map(({modality, name}) => node('b', {class: modality}, name))));

// The first are cards to begin with, and chips once something was searched, until all are unfolded as cards.
const unfold = (strip, open) => {
  const all = strip.querySelector('.all');
  strip.classList.toggle('open', open);
  all.textContent = open ? 'Show fewer' : `All ${strip.querySelectorAll('li').length}`;
  all.setAttribute('aria-expanded', String(open));
};

const example = (data, place) => {
  const run = card => {
    unfold(card.closest('.examples'), false);
    genius.send.ask({example: String(place)});
  };
  return node('li', {}, button({class: 'example box'}, run,
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
  const all = button({class: 'link all'}, () => unfold(strip, !strip.classList.contains('open')));
  strip.append(node('h2', {}, 'Try one of these, or use your own photo'),
    node('ol', {}, ...value.cards.map(example)), all);
  unfold(strip, false);
  return [strip];
};
