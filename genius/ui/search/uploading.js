// A picture for Search, Compare or Codes is chosen, pasted anywhere or dropped anywhere. What the browser can read is uploaded as a
// PNG, JPEG or WebP without side above 2,048 pixels, since a telephone's photograph is too large as it is; the rest is refused.
{
  const BUTTONS = {'#picture': '#go', '#compare-picture': '#compare-go', '#codes-picture': '#codes-go'};
  const FIELDS = {'#text textarea': '#go', '#compare-text textarea': '#compare-go'};
  const SIDE = 2048, BYTES = 4 * 2 ** 20, TYPES = ['image/png', 'image/jpeg', 'image/webp'];
  const own = new WeakSet();    // drops by which Gradio gets the picture
  const isOpen = name => document.getElementById(`tab-${name}`)?.checkVisibility();

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

  const take = async (file, field) => {
    field.dataset.preparing = '';
    const picture = await readable(file), dataTransfer = new DataTransfer();
    if (picture) {
      genius.quiet();
      dataTransfer.items.add(picture);
      const drop = new DragEvent('drop', {dataTransfer, bubbles: true, cancelable: true});
      own.add(drop);
      field.querySelector('.upload-container').dispatchEvent(drop);
      await new Promise(done => setTimeout(done, 100));    // Gradio shows its own sign by then
    } else genius.tell(`${file.name} is no picture that this browser can read; choose a JPEG, PNG or WebP file.`);
    delete field.dataset.preparing;
  };
  const takeAnywhere = (file, event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    const compares = isOpen('compare');
    if (!compares && !isOpen('search')) document.getElementById('tab-search-button').click();
    const given = () => {
      const field = document.querySelector(compares ? '#compare-picture' : '#picture');
      field?.querySelector('.upload-container') ? take(file, field) : setTimeout(given, 50);
    };
    given();
  };

  document.addEventListener('change', event => {
    const field = event.target.type === 'file' && event.target.closest(Object.keys(BUTTONS).join());
    if (!field || !event.target.files.length) return;
    event.stopImmediatePropagation();
    take(event.target.files[0], field);
    event.target.value = '';
  }, true);
  let inside = false;    // what is dragged is a part of the page
  for (const type of ['dragstart', 'dragend']) addEventListener(type, () => { inside = type === 'dragstart'; }, true);
  for (const type of ['dragover', 'drop']) document.addEventListener(type, event => {
    if (inside || own.has(event) || isOpen('collection') || !event.dataTransfer?.types.includes('Files')) return;
    if (type === 'dragover') event.preventDefault();
    else if (event.dataTransfer.files.length) takeAnywhere(event.dataTransfer.files[0], event);
  }, true);
  document.addEventListener('paste', event => {
    const {files, types} = event.clipboardData;
    if (files.length && !isOpen('collection') && !types.includes('text/plain')) takeAnywhere(files[0], event);
  }, true);

  // A search waits for a picture that is still being uploaded: Gradio would ask without it.
  const fieldOf = go => document.querySelector(Object.keys(BUTTONS).find(picture => BUTTONS[picture] === go));
  const uploads = go => 'preparing' in fieldOf(go).dataset || fieldOf(go).querySelector('.uploading');
  const waitFor = go => {
    const button = document.querySelector(go), picture = fieldOf(go);
    if ('waiting' in button.dataset) return;
    button.dataset.waiting = '';
    genius.say('The picture is still being uploaded. Then the search starts.');
    const observer = new MutationObserver(() => {
      if (uploads(go)) return;
      observer.disconnect();
      setTimeout(() => {    // a picture that arrived has its value by then; of one that did not, Gradio tells
        delete button.dataset.waiting;
        if (picture.querySelector('img')) button.click();
      }, 100);
    });
    observer.observe(picture, {childList: true, subtree: true, attributeFilter: ['data-preparing']});
  };
  const hold = (event, go) => {
    if (!go || !uploads(go)) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    waitFor(go);
  };
  document.addEventListener('click', event => hold(event, Object.values(BUTTONS).find(go => event.target.closest?.(go))), true);
  document.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.isComposing) return;
    hold(event, Object.entries(FIELDS).find(([field]) => event.target.closest?.(field))?.[1]);
  }, true);
}
