// The map as a picture, until the figure that lies over it is drawn.
const draw = value => value ? [node('img', {src: value.picture, alt: 'The map is being drawn'})] : [];

// Texts of the figure do not cover each other, until there is more room because the visitor has come closer: numbers of
// results in one place become one text, and a name of a group moves up or down, the largest group first, or is left out.
const partsOf = (host, isKind, parts = '.textpoint text') => [...host.querySelectorAll('.scatterlayer > .trace')]
  .filter(({__data__: [{trace}]}) => isKind(trace)).flatMap(trace => [...trace.querySelectorAll(parts)]);
const boxOf = text => text.getBoundingClientRect();
const meet = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
const isName = ({mode}) => mode === 'text', isRing = ({marker}) => marker?.symbol === 'circle-open';

const settle = (text, taken) => {    // -> whether there is room for it, if it moves
  text.style.translate = '';
  const {x, y, width, height} = boxOf(text);
  const moved = [0, -1, 1, -2, 2].map(lines => new DOMRect(x, y + lines * height, width, height))
    .find(box => !taken.some(other => meet(box, other)));
  if (!moved) return false;
  text.style.translate = `0 ${moved.y - y}px`;
  taken.push(moved);
  return true;
};

const placeTexts = host => {
  const isStar = trace => !isName(trace) && !isRing(trace), places = [];
  const taken = partsOf(host, isStar, '.textpoint text, .points path').map(boxOf);
  for (const text of partsOf(host, isRing)) {
    const number = text.parentNode.__data__.tx;
    Object.assign(text, {textContent: number}).style.translate = '';
    const near = places.find(({box}) => meet(box, boxOf(text)));
    if (near) near.numbers.push(number);
    else places.push({text, box: boxOf(text), numbers: [number]});
    text.style.visibility = near ? 'hidden' : 'visible';
  }
  for (const {text, numbers} of places) {
    const last = numbers.at(-1), inARow = numbers.length > 2 && last - numbers[0] === numbers.length - 1;
    text.textContent = inARow ? `${numbers[0]}–${last}` : numbers.join(', ');
    settle(text, taken);
  }
  for (const text of partsOf(host, isName)) text.style.visibility = settle(text, taken) ? 'visible' : 'hidden';
};

let watched = false;
document.addEventListener('drawn', ({target}) => {
  if (!target.closest('#map-figure')) return;
  element.querySelector('.panel').replaceChildren();
  placeTexts(target);
  if (!watched) target.on('plotly_afterplot', () => placeTexts(target));
  watched = true;
});
