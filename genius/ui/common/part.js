// The box lies over the picture of Gradio's own component, which draws the picture anew when it changes.
const MIN_SIDE = .04;    // of the width or height; a smaller box is a slip of the hand
const SMALL = 100;    // pixels; on a lower picture nobody can draw, so a click enlarges it first
const EDGES = ['left', 'top', 'right', 'bottom'];
const WHOLE = {left: 0, top: 0, right: 1, bottom: 1};
const surface = node('div', {class: 'part-surface', 'aria-hidden': 'true'}, node('i', {class: 'part-box', hidden: ''}));
let component = null, shownSource = '', drawing = false, typing = false, start = null;

const clamp = number => Math.min(1, Math.max(0, number));
const image = () => component.querySelector('.image-frame img');

// The surface covers what is painted of the picture, which may be smaller than its element.
const placeSurface = () => {
  const picture = image();
  if (!picture?.naturalWidth || !surface.parentElement) return;
  const {offsetLeft, offsetTop, clientWidth, clientHeight, naturalWidth, naturalHeight} = picture;
  const scale = Math.min(1, clientWidth / naturalWidth, clientHeight / naturalHeight);
  const [width, height] = [naturalWidth * scale, naturalHeight * scale];
  Object.assign(surface.style, {width: `${width}px`, height: `${height}px`,
    left: `${offsetLeft + (clientWidth - width) / 2}px`, top: `${offsetTop + (clientHeight - height) / 2}px`});
};

const drawBox = box => {
  const [line] = surface.children;
  line.hidden = !box;
  if (box) Object.assign(line.style, {left: `${100 * box.left}%`, top: `${100 * box.top}%`,
    width: `${100 * (box.right - box.left)}%`, height: `${100 * (box.bottom - box.top)}%`});
};

const boxBetween = (one, other) => ({left: Math.min(one.x, other.x), top: Math.min(one.y, other.y),
  right: Math.max(one.x, other.x), bottom: Math.max(one.y, other.y)});
const pointOf = event => {
  const {left, top, width, height} = surface.getBoundingClientRect();
  return {x: clamp((event.clientX - left) / width), y: clamp((event.clientY - top) / height)};
};
const isLargeEnough = box => box.right - box.left >= MIN_SIDE && box.bottom - box.top >= MIN_SIDE;

const choose = box => {
  props.value = box;
  drawing = false;
  redraw();
  emit('select', {});
};

// A finger scrolls the page, unless the visitor said that it should draw.
surface.addEventListener('pointerdown', event => {
  if (event.button || (event.pointerType === 'touch' && !drawing)) return;
  if (surface.clientHeight < SMALL) return toggle();
  event.preventDefault();
  surface.setPointerCapture(event.pointerId);
  start = pointOf(event);
});
surface.addEventListener('pointermove', event => start && drawBox(boxBetween(start, pointOf(event))));
surface.addEventListener('pointerup', event => {
  if (!start) return;
  const box = boxBetween(start, pointOf(event));
  start = null;
  if (isLargeEnough(box)) choose(box);
  else drawBox(props.value);
});
surface.addEventListener('pointercancel', () => { start = null; drawBox(props.value); });

const toggle = () => {
  drawing = !drawing;
  redraw();
};

const field = (edge, box) => {
  const input = node('input', {type: 'number', min: 0, max: 100, step: 1, value: Math.round(100 * box[edge]),
    'data-edge': edge, inputmode: 'numeric'});
  return node('label', {}, `${edge} `, input, ' %');
};

const edgeForm = box => {
  const form = node('form', {}, ...EDGES.map(edge => field(edge, box)), node('button', {type: 'submit', class: 'plain'}, 'Search this part'));
  const problem = node('p', {class: 'wrong', role: 'status'});
  form.addEventListener('submit', event => {
    event.preventDefault();
    const typed = Object.fromEntries([...form.querySelectorAll('input')].map(input =>
      [input.dataset.edge, clamp(input.valueAsNumber / 100)]));
    if (isLargeEnough(typed)) choose(typed);
    else problem.textContent = 'Type numbers from 0 to 100, at least 4 apart: left before right, top before bottom.';
  });
  const folded = node('details', typing ? {open: ''} : {}, node('summary', {}, 'Type its edges instead'), form, problem);
  folded.addEventListener('toggle', () => { typing = folded.open; });
  return folded;
};

const draw = box => {
  surface.classList.toggle('drawing', drawing);
  component?.classList.toggle('marking', drawing);
  drawBox(box);
  if (!shownSource) return [];
  const buttons = [button({class: 'plain', 'aria-pressed': String(drawing)}, toggle,
    drawing ? 'Drag a box on the picture' : 'Mark a part')];
  if (box) buttons.push(button({class: 'plain whole'}, () => choose(null), 'Whole picture'));
  return [node('div', {class: 'part', role: 'group', 'aria-label': 'Part of the picture to search'},
    node('p', {class: 'label', 'data-announced': ''}, box ? 'Only the marked part is searched.'
      : 'To search only a part of the picture, drag a box over it.'),
    node('div', {class: 'choices'}, ...buttons), edgeForm(box || WHOLE))];
};
const redraw = () => replaceContent(draw(props.value));

// Another picture, or none: the box belonged to the last one.
const onPictureChange = () => {
  const picture = image(), source = picture?.src ?? '';
  if (picture && surface.parentElement !== picture.parentElement) {
    picture.after(surface);
    sizeObserver.disconnect();
    sizeObserver.observe(picture);
    picture.addEventListener('load', placeSurface);
    picture.draggable = false;
  }
  if (source === shownSource) return;
  shownSource = source;
  drawing = false;
  props.value = null;
  redraw();
  placeSurface();
};
const sizeObserver = new ResizeObserver(placeSurface);
const attach = () => {
  component = document.getElementById(props.picture);
  if (!component) return false;    // Gradio loads its component later
  new MutationObserver(onPictureChange).observe(component, {childList: true, subtree: true, attributes: true, attributeFilter: ['src']});
  onPictureChange();
  return true;
};
if (!attach()) {
  const loading = new MutationObserver(() => attach() && loading.disconnect());
  loading.observe(document.body, {childList: true, subtree: true});
}
