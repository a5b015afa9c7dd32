const action = (label, onClick, attributes = {}) => button({class: 'plain', ...attributes}, onClick, label);

// The page walks through the steps by itself: a step of the tour is shown, and what it is about is asked for.
const show = value => {
  props.value = value;
  genius.setTour(value?.number);
  replaceContent(draw(value));
};
const go = number => show({...panelData(), number});
const leave = () => {
  show(null);
  document.querySelector('#header button')?.focus();
};

const example = item => node('li', {class: `small ${item.modality}`},
  ...item.picture ? [node('img', {src: item.picture, alt: item.text || item.label})] : [],
  node('p', {}, chips({codes: item.codes, shared: item.shared})), ...creditLine(item.provenance));

const views = list => {
  const made = node('div', {class: 'choices', role: 'group', 'aria-label': 'Map'});
  const choose = chosen => [...made.children].forEach((choice, place) =>
    choice.setAttribute('aria-pressed', String(place === chosen)));
  made.append(...list.map(({label, name}, place) => action(label, () => {
    choose(place);
    genius.send.map_view(name);
  })));
  choose(0);
  return made;
};

// The tab of a step may still have to be laid out, and its content to come.
const reveal = (made, id, tries = 80) => setTimeout(() => {
  const part = document.getElementById(id);
  if (!made.isConnected || !tries) return;
  if (part?.offsetHeight > 1) genius.reveal(part, 'start');
  else reveal(made, id, tries - 1);
}, 100);

const draw = value => {
  document.body.classList.toggle('touring', Boolean(value));
  if (!value) return [];
  const {steps, number} = value, of = steps.length, last = number === of;
  const {step, title, text, picture, pair = [], views: maps = [], reveals, sends} = steps[number - 1];
  const heading = node('h2', {tabindex: '-1'}, title);
  const made = node('section', {class: `tour at-${step}`, 'aria-label': 'Guided tour'},
    ...picture ? [node('img', {class: 'tour-asked', src: picture, alt: 'The picture of the query'})] : [],
    node('div', {class: 'tour-words'}, node('p', {class: 'label'}, `Step ${number} of ${of}`), heading,
      node('p', {'data-announced': ''}, text), ...maps.length ? [views(maps)] : []),
    ...pair.length ? [node('ul', {class: 'tour-pair'}, ...pair.map(example))] : [],
    node('div', {class: 'moves'},
      action('Leave', leave),
      action('Back', () => go(number - 1), number === 1 ? {disabled: ''} : {}),
      action(last ? 'Finish' : 'Next', () => last ? leave() : go(number + 1), {class: 'plain next'})));
  made.addEventListener('keydown', event => event.key === 'Escape' && leave());
  requestAnimationFrame(() => heading.focus({preventScroll: true}));
  reveal(made, reveals);
  for (const [name, message] of Object.entries(sends)) genius.send[name](message);
  return [made];
};

watch('value', () => genius.setTour(panelData()?.number));
