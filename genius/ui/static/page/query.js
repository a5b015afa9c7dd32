// Words and a picture, of which a part may be marked. Search and Compare ask with one.
import {upload as send} from './api.js';
import {button, node, say} from './nodes.js';

const SIDE = 2048, BYTES = 4 * 2 ** 20, TYPES = ['image/png', 'image/jpeg', 'image/webp'];
const MIN_SIDE = .04;    // of a marked part; a smaller box is a slip of the hand
const EDGES = ['left', 'top', 'right', 'bottom'];
const ITEM = 'application/x-genius-item';    // a result that is dragged to the query

// What the browser can read is sent as a PNG, JPEG or WebP without side above 2,048 pixels; null: it cannot.
const readable = async file => {
  const image = await createImageBitmap(file).catch(() => null);
  if (!image) return null;
  const scale = Math.min(1, SIDE / Math.max(image.width, image.height));
  if (scale === 1 && file.size <= BYTES && TYPES.includes(file.type)) return file;
  const canvas = node('canvas', {width: Math.ceil(scale * image.width), height: Math.ceil(scale * image.height)});
  const pen = Object.assign(canvas.getContext('2d'), {fillStyle: 'white', imageSmoothingQuality: 'high'});
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise(done => canvas.toBlob(done, 'image/jpeg', .9));
  return new File([blob], `${file.name.replace(/\.\w+$/, '')}.jpg`, {type: 'image/jpeg'});
};

const camera = async take => {
  const stream = await navigator.mediaDevices.getUserMedia({video: {facingMode: {ideal: 'environment'}}});
  const video = node('video', {autoplay: '', playsinline: '', muted: ''});
  video.srcObject = stream;
  const end = () => { stream.getTracks().forEach(track => track.stop()); box.remove(); };
  const box = node('dialog', {class: 'camera'}, video, node('div', {class: 'choices'},
    button({class: 'primary'}, () => {
      const canvas = node('canvas', {width: video.videoWidth, height: video.videoHeight});
      canvas.getContext('2d').drawImage(video, 0, 0);
      canvas.toBlob(blob => { end(); take(new File([blob], 'camera.jpg', {type: 'image/jpeg'})); }, 'image/jpeg', .92);
    }, 'Take the picture'), button({class: 'plain'}, end, 'Cancel')));
  box.addEventListener('cancel', end);
  document.body.append(box);
  box.showModal();
};

// id: of the picture's field; text: of the words'. change: called when the picture or its part is another. page: for messages.
export const queryBox = ({id, textId, partId, change, onItem, submit, page}) => {
  let shown = null;    // {upload or item, src, part}
  let preparing = null, drawing = false, start = null, typing = false, limits = page.run.limits;
  const file = node('input', {type: 'file', accept: 'image/*', 'aria-label': 'Picture'});
  const field = node('div', {id, class: 'query-picture', 'aria-label': 'Picture'});
  const words = node('textarea', {rows: '1', maxlength: limits.text, placeholder: 'Describe it, or ask about the picture', 'aria-label': 'Description'});
  const text = node('div', {id: textId, class: 'query-text'}, words);
  const part = node('div', {id: partId});
  const fit = () => { words.style.height = ''; words.style.height = `${Math.min(words.scrollHeight + 4, 120)}px`; };
  words.addEventListener('input', fit);
  words.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });

  // The part of the picture
  const surface = node('div', {class: 'part-surface', 'aria-hidden': 'true'}, node('i', {class: 'part-box', hidden: ''}));
  const clamp = number => Math.min(1, Math.max(0, number));
  const placeSurface = () => {    // it covers what is painted of the picture
    const image = field.querySelector('img');
    if (!image?.naturalWidth) return;
    const {offsetLeft, offsetTop, clientWidth, clientHeight, naturalWidth, naturalHeight} = image;
    const scale = Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight), [width, height] = [naturalWidth * scale, naturalHeight * scale];
    Object.assign(surface.style, {width: `${width}px`, height: `${height}px`, left: `${offsetLeft + (clientWidth - width) / 2}px`, top: `${offsetTop + (clientHeight - height) / 2}px`});
  };
  const drawBox = box => {
    const [frame] = surface.children;
    frame.hidden = !box;
    if (box) Object.assign(frame.style, {left: `${100 * box.left}%`, top: `${100 * box.top}%`, width: `${100 * (box.right - box.left)}%`, height: `${100 * (box.bottom - box.top)}%`});
  };
  const pointOf = event => {
    const {left, top, width, height} = surface.getBoundingClientRect();
    return {x: clamp((event.clientX - left) / width), y: clamp((event.clientY - top) / height)};
  };
  const between = (one, other) => ({left: Math.min(one.x, other.x), top: Math.min(one.y, other.y), right: Math.max(one.x, other.x), bottom: Math.max(one.y, other.y)});
  const large = box => box.right - box.left >= MIN_SIDE && box.bottom - box.top >= MIN_SIDE;
  const choose = box => {
    shown.part = box;
    drawing = false;
    draw();
    change('part');
  };
  surface.addEventListener('pointerdown', event => {
    if (event.button || !drawing) return;
    event.preventDefault();
    surface.setPointerCapture(event.pointerId);
    start = pointOf(event);
  });
  surface.addEventListener('pointermove', event => start && drawBox(between(start, pointOf(event))));
  surface.addEventListener('pointerup', event => {
    if (!start) return;
    const box = between(start, pointOf(event));
    start = null;
    if (large(box)) choose(box);
    else drawBox(shown.part);
  });
  const edgeForm = box => {
    const problem = node('p', {class: 'wrong', role: 'alert'});
    const inputs = EDGES.map(edge => node('input', {type: 'number', min: 0, max: 100, 'aria-label': `${edge}, in %`, value: Math.round(100 * box[edge])}));
    const form = node('form', {}, ...EDGES.map((edge, place) => node('label', {}, edge, inputs[place])), node('button', {class: 'plain'}, 'Search this part'));
    form.addEventListener('submit', event => {
      event.preventDefault();
      const typed = Object.fromEntries(EDGES.map((edge, place) => [edge, Number(inputs[place].value) / 100]));
      if (EDGES.every((edge, place) => inputs[place].value && typed[edge] >= 0 && typed[edge] <= 1) && large(typed)) choose(typed);
      else problem.textContent = 'Type numbers from 0 to 100, at least 4 apart: left before right, top before bottom.';
    });
    const made = node('details', typing ? {open: ''} : {}, node('summary', {}, 'Type its edges instead'), form, problem);
    made.addEventListener('toggle', () => { typing = made.open; });
    return made;
  };

  const draw = () => {
    const add = node('label', {class: 'add', title: 'Choose a picture, drop it, or paste it anywhere'}, node('span', {class: 'icon', 'aria-hidden': 'true'}), node('span', {}, 'Add a picture'), file);
    const cameraButton = navigator.mediaDevices ? [button({class: 'plain camera-button', title: 'Take a picture'}, () => camera(take).catch(() =>
      page.tell('The camera cannot be used here; choose a picture instead.')), 'Camera')] : [];
    field.classList.toggle('marking', drawing);
    surface.classList.toggle('drawing', drawing);
    field.replaceChildren(...shown ? [node('span', {class: 'image-frame'}, node('img', {src: shown.src, alt: 'Your picture', draggable: 'false'}), surface),
      button({class: 'remove', 'aria-label': 'Remove the picture'}, () => set(null, true), '×')] : [add, ...cameraButton]);
    drawBox(shown?.part);
    field.querySelector('img')?.addEventListener('load', placeSurface);
    const toggle = () => { drawing = !drawing; draw(); requestAnimationFrame(placeSurface); };
    part.replaceChildren(...shown ? [node('div', {class: 'part', role: 'group', 'aria-label': 'Part of the picture to search'},
      node('div', {class: 'choices'}, button({class: 'plain', 'aria-pressed': String(drawing)}, toggle, drawing ? 'Drag a box on the picture' : 'Mark a part'),
        ...shown.part ? [button({class: 'plain whole'}, () => choose(null), 'Whole picture')] : []),
      ...drawing ? [edgeForm(shown.part ?? {left: 0, top: 0, right: 1, bottom: 1})] : [])] : []);
    requestAnimationFrame(placeSurface);
  };
  new ResizeObserver(placeSurface).observe(field);

  const set = (picture, told = false) => {
    if (shown?.src?.startsWith('blob:') && shown.src !== picture?.src) URL.revokeObjectURL(shown.src);
    shown = picture;
    drawing = false;
    draw();
    if (told) change('picture');
  };
  const take = async chosen => {
    field.dataset.preparing = '';
    preparing = (async () => {
      const picture = await readable(chosen);
      if (!picture) {
        page.tell(`${chosen.name} is no picture that this browser can read; choose a JPEG, PNG or WebP file.`);
        return;
      }
      page.quiet();
      set({src: URL.createObjectURL(picture), part: null, upload: ''});
      const mine = shown;
      mine.upload = await send(picture);
      if (shown === mine) change('picture');
    })().catch(error => { set(null); page.fail(error); }).finally(() => { delete field.dataset.preparing; preparing = null; });
    await preparing;
  };
  file.addEventListener('change', () => { if (file.files[0]) take(file.files[0]); file.value = ''; });
  for (const type of ['dragover', 'dragleave', 'drop']) field.addEventListener(type, event => {
    if (!event.dataTransfer.types.includes(ITEM)) return;
    event.preventDefault();
    event.stopPropagation();
    field.classList.toggle('receiving', type === 'dragover');
    if (type === 'drop') onItem?.(event.dataTransfer.getData(ITEM));
  });
  draw();
  return {
    field, text, part, words, take, set,
    get value() { return words.value; },
    set value(given) { words.value = given; fit(); },
    get picture() { return shown; },
    // A search waits for a picture that is still being uploaded.
    async ready() {
      if (!preparing) return;
      say('The picture is still being uploaded. Then the search starts.');
      await preparing;
    },
  };
};

// A picture that is pasted or dropped anywhere goes to `box` of the panel that is shown.
let inside = false;    // what is dragged is a part of the page
for (const type of ['dragstart', 'dragend']) addEventListener(type, () => { inside = type === 'dragstart'; }, true);
export const takeAnywhere = give => {
  for (const type of ['dragover', 'drop']) document.addEventListener(type, event => {
    if (inside || event.target.closest?.('#tab-collection') || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    if (type === 'drop' && event.dataTransfer.files.length) give(event.dataTransfer.files[0]);
  });
  document.addEventListener('paste', event => {
    const {files, types} = event.clipboardData;
    if (!files.length || types.includes('text/plain') || document.getElementById('tab-collection')?.checkVisibility()) return;
    event.preventDefault();
    give(files[0]);
  });
};
