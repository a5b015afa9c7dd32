// Collection: what is indexed, and, where visitors may, how it is changed.
import {prefixes} from '../page/items.js';
import {button, counted, dataTables, folded, node, pager, replace} from '../page/nodes.js';

const MOST = 1000;    // files at once
const AT_ONCE = 4;    // files that are sent at the same time
const PAUSE = 600, PATIENCE = 6000;    // milliseconds after a question: until an answer counts, and until none does
const isHidden = name => /^(\.|__MACOSX$)/.test(name);

// A button whose first click asks for confirmation; the second acts, but not that of a double click, nor a key that is held.
const confirmed = (label, title, act) => {
  let asked, patience;
  const disarm = () => {
    clearTimeout(patience);
    made.classList.remove('sure');
    made.textContent = label;
  };
  const made = button({class: 'plain', title}, () => {
    if (!made.classList.contains('sure')) {
      asked = performance.now();
      made.classList.add('sure');
      made.textContent = `Really ${label.toLowerCase()}?`;
      patience = setTimeout(disarm, PATIENCE);    // Safari gives a clicked button no focus, so that none is lost
    } else if (performance.now() - asked > PAUSE) {
      disarm();
      act();
    }
  }, label);
  made.addEventListener('blur', disarm);
  made.addEventListener('keydown', event => { if (event.repeat) event.preventDefault(); });
  return made;
};

// The files in a folder that was dropped, and in the folders below it; of a hidden one only its name is sent.
const shown = (file, hidden) => hidden || isHidden(file.name) ? new File([], 'thumbs.db') : file;
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

export const mount = (root, page) => {
  const at = Object.fromEntries(['outcome', 'search', 'working', 'contents', 'verdict', 'drift', 'added'].map(name => [name, node('div', {id: `collection-${name}`})]));
  const edit = node('div', {id: 'collection-edit'});
  root.append(node('p', {class: 'introduction'}, 'What can be found here. New items need no training: each gets its ID at once.'),
    node('div', {id: 'collection'}, edit, node('div', {class: 'sides'}, at.contents, at.verdict,
      folded('How well items fit their codes', at.drift))), at.added);
  let files = [], busy = false, turned = 0, kept;

  const say = ({title, lines, done}) => {
    const moving = done !== undefined && done < 1;
    replace(at.outcome, [node('div', {class: 'collection-outcome', ...moving && done ? {} : {'data-announced': ''}}, node('p', {class: 'title'}, title),
      ...moving ? [node('progress', {value: done, 'aria-label': 'Added'})] : [], ...lines.map(line => node('p', {}, line)))]);
  };
  const change = async (name, parameters, options) => {
    if (busy) return null;
    busy = true;
    try {
      const value = await page.call(name, parameters, options);
      page.quiet();
      say(value);
      if (value.error) page.fail(new Error(value.error));
      if (name !== 'keep_changes') await page.changed();
      return value;
    } catch (error) {
      page.fail(error);
      return null;
    } finally { busy = false; }
  };

  // What is added: pictures, a ZIP or a folder of them, and texts.
  const chosen = node('p', {class: 'label'}), input = node('input', {type: 'file', multiple: '', 'aria-label': 'Pictures, a ZIP or a folder of them'});
  const texts = node('textarea', {rows: 3, 'aria-label': 'One text per line'}), ids = node('input', {type: 'text', placeholder: '9:1234 9:1235', 'aria-label': 'Numbers of the items to remove'});
  const choose = given => {
    if (given.length > MOST) return page.tell(`There are more than ${MOST.toLocaleString('en')} files in that folder; drop a part of it.`);
    files = given;
    chosen.textContent = files.length ? `${counted(files.length, 'file')}: ${files.slice(0, 3).map(({name}) => name).join(', ')}${files.length > 3 ? ', …' : ''}` : '';
  };
  input.addEventListener('change', () => choose([...input.files].map(file => shown(file))));
  const place = node('label', {id: 'collection-pictures', class: 'drop'}, node('b', {}, 'Drop pictures here, a folder or a ZIP of them'),
    node('span', {class: 'plain'}, 'Choose files'), chosen, input);
  for (const type of ['dragover', 'dragleave', 'drop']) place.addEventListener(type, async event => {
    event.preventDefault();
    place.classList.toggle('receiving', type === 'dragover');
    if (type !== 'drop') return;
    const entries = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean);
    const found = entries.length ? await Promise.all(entries.map(entry => filesBelow(entry))).then(all => all.flat(), () => null) : [...event.dataTransfer.files];
    if (found) choose(found);
    else page.tell('A file of that folder cannot be read; drop its pictures instead.');
  });
  const add = async () => {
    if (busy) return;
    const given = files;
    say({title: given.length ? `Sending ${counted(given.length, 'file')} …` : 'Adding …', lines: []});
    const sent = [];
    let next = 0, arrived = 0;
    const send = async () => {
      while (next < given.length) {
        const place = next++;
        sent[place] = {path: await page.upload(given[place]), name: given[place].name};
        arrived += 1;
        if (arrived % 20 === 0) say({title: `${arrived} of ${given.length} files sent.`, lines: [], done: arrived / given.length});
      }
    };
    try {
      await Promise.all(Array.from({length: AT_ONCE}, send));
    } catch (error) {
      next = given.length;
      say({title: 'Nothing was added.', lines: []});
      page.fail(error);
      return;
    }
    const value = await change('add_items', {files: sent, texts: texts.value}, {progress: say});
    if (value && !value.error) {
      choose([]);
      input.value = '';
      texts.value = '';
    }
  };
  const remove = () => change('remove_items', {ids: ids.value}).then(value => { if (value) ids.value = ''; });
  const form = ({copies}) => [node('h2', {}, 'Add items'), place,
    node('label', {id: 'collection-texts'}, 'One text per line', texts, node('span', {class: 'note'}, 'With pictures: one caption per line, in the same order; an empty line means no caption. Without pictures: each line becomes an item.')),
    button({id: 'collection-go', class: 'primary'}, add, 'Add to the collection'), at.outcome, at.search, at.working,
    node('details', {id: 'collection-more'}, node('summary', {}, 'Remove items, or tidy the index'),
      node('label', {id: 'collection-ids'}, 'Numbers of the items to remove', ids, node('span', {class: 'note'}, 'Each result and each card shows the number of its item.')),
      node('p', {id: 'collection-remove', class: 'choices'}, confirmed('Remove', 'Remove these items from the collection', remove),
        button({id: 'collection-compact', class: 'plain'}, () => change('merge_segments'), 'Merge the parts (segments) of the index')))];
  const readOnly = ([serve, ...others]) => [node('section', {class: 'collection-read-only'}, node('h2', {}, 'Adding items'),
    node('p', {}, 'New items need no training: each gets its ID at once, and the next search finds it. Editing is switched off on this page; to allow it, start the page with'),
    node('pre', {tabindex: '0', 'aria-label': 'Command that allows editing'}, serve),
    node('p', {}, 'The command line works at any time, and this page picks up the change:'),
    node('pre', {tabindex: '0', 'aria-label': 'Commands that edit the collection'}, others.join('\n')))];
  // What becomes of a working copy.
  const working = folder => {
    if (!folder) return [];
    const name = node('input', {id: 'collection-name', type: 'text', required: '', maxlength: 64, autocomplete: 'off'});
    const made = node('form', {class: 'line'}, node('label', {for: 'collection-name'}, `Keep as a run: ${folder}/`), name, node('button', {class: 'plain'}, 'Keep'),
      confirmed('Forget', 'Forget all changes', () => change('forget_changes')));
    made.addEventListener('submit', event => {
      event.preventDefault();
      change('keep_changes', {name: name.value});
    });
    return [made];
  };

  const tile = ({id, name, modality, text, label, picture, codes}) => node('li', {class: `added ${modality}`},
    picture ? node('img', {src: picture, alt: text ? '' : label, loading: 'lazy'}) : '', node('p', {class: picture ? 'caption' : 'excerpt'}, text || label),
    node('p', {class: 'line'}, node('span', {class: 'badge'}, name), node('span', {class: 'item'}, `item ${id}`)), prefixes(codes, page.openCode),
    node('p', {class: 'line'}, button({class: 'plain', title: `Search with ${id}`}, () => page.ask({item: id}), 'Use as query'),
      page.run.editable ? confirmed('Remove', `Remove ${id} from the collection`, () => change('remove_items', {ids: id})) : ''));
  const turn = async number => {
    turned = number;
    const value = await page.get('collection/added', {page: number});
    replace(at.added, value ? [node('section', {class: 'collection-added'}, node('h2', {}, 'Added since training', node('span', {class: 'label'}, ` ${value.total}, newest first`)),
      node('ol', {}, ...value.tiles.map(tile)), ...pager(value.page, value.pages, to => turn(to).catch(page.fail)))] : []);
  };
  const update = async () => {
    const value = await page.get('collection');
    replace(at.contents, [dataTables(value.tables)]);
    if (!edit.children.length) {
      edit.append(...value.editable ? form(value) : [...readOnly(value.commands), at.search]);
      if (value.editable) say({title: 'The next search finds what you add.', lines: [value.copies ? 'Changes last until the program ends. Name the collection to keep it.'
        : 'So does that of everyone who uses this page.']});
    }
    replace(at.search, page.run.grown ? [button({class: 'plain'}, () => page.open('search', {in: 'added'}), 'Search in what was added')] : []);
    if (value.kept !== kept) replace(at.working, working(kept = value.kept)); // else a name that is being typed would go
    const [fit] = await Promise.all([page.get('collection/fit'), turn(turned)]);
    replace(at.verdict, [node('div', {class: `verdict ${fit.fits ? 'fits' : 'warns'}`, 'data-announced': ''}, ...fit.sentences.map(sentence => node('p', {}, sentence)))]);
    replace(at.drift, [dataTables(fit.tables)]);
  };
  return {update, changed: () => { if (root.checkVisibility()) update().catch(page.fail); }};
};
