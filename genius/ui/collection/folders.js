// The pictures of Collection may be a folder that is dropped: the files in it and in the folders below it. Gradio refuses all
// files where one is hidden, so only a name by which the outcome counts such a file is sent.
{
  const FIELD = '#collection-pictures', MOST = 1000, own = new WeakSet();    // drops by which Gradio gets the files
  const isHidden = name => /^(\.|__MACOSX$)/.test(name);
  const shown = (file, hidden) => hidden || isHidden(file.name) ? new File([], 'thumbs.db') : file;
  const transferOf = files => {
    const transfer = new DataTransfer();
    for (const file of files) transfer.items.add(file);
    return transfer;
  };
  const filesBelow = async (entry, within) => {
    const hidden = within || isHidden(entry.name), files = [];
    if (entry.isFile) return [shown(await new Promise((done, fail) => entry.file(done, fail)), hidden)];
    const reader = entry.createReader();
    for (let some = [0]; some.length && files.length <= MOST;) {
      some = await new Promise((done, fail) => reader.readEntries(done, fail));
      for (const one of some) files.push(...await filesBelow(one, hidden));
    }
    return files;
  };
  document.addEventListener('change', ({target}) => {
    if (target.type === 'file' && target.closest(FIELD)) target.files = transferOf([...target.files].map(file => shown(file))).files;
  }, true);
  document.addEventListener('drop', async event => {
    const {target, dataTransfer: {items}} = event;
    if (own.has(event) || !target.closest?.(FIELD)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const entries = [...items].map(item => item.webkitGetAsEntry()).filter(Boolean);
    const files = await Promise.all(entries.map(entry => filesBelow(entry))).then(found => found.flat(), () => null);
    if (!files) return genius.tell('A file of that folder cannot be read; drop its pictures instead.');
    if (files.length > MOST) return genius.tell(`There are more than ${MOST.toLocaleString('en')} files in that folder; drop a part of it.`);
    const drop = new DragEvent('drop', {dataTransfer: transferOf(files), bubbles: true, cancelable: true});
    own.add(drop);
    target.dispatchEvent(drop);
  }, true);
}
