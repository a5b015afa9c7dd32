// Search: the line that asks, and its answer. The address says what is asked.
import {fillMeanings} from '../page/names.js';
import {button, node, replace} from '../page/nodes.js';
import {cards, examples, generated, start, summary} from './results.js';

const SEARCH = ['q', 'instruction', 'item', 'picture', 'example', 'reading', 'upload', 'part'];
const MOST_KEPT = 20;    // searches of the history
const NOTES = {
  beams: 'How many beginnings of IDs (the beam) are followed at once. More finds more but takes longer.',
  weight: own => `1 = decoder only, 0 = distance only. This run uses ${own}.`,
  order: 'Similarity compares question and item directly, as in the paper; before coding: by the features that IDs are made from. ID score: as the IDs were found.',
  by: 'Generate writes IDs code by code, as in the paper. Scan compares the question with every ID.',
  kind: 'Auto: your words decide. Otherwise only items of this kind are found.',
};

// A choice of few: what radio buttons are, drawn as one.
const choice = (id, label, options, value, change, note = '') => {
  const made = node('fieldset', {id, class: 'segmented', title: note}, node('legend', {}, label), ...options.map(([words, name]) => {
    const input = node('input', {type: 'radio', name: id, value: name});
    input.checked = String(name) === String(value);
    input.addEventListener('change', () => change(name));
    return node('label', {}, input, node('span', {}, words));
  }));
  return made;
};
const number = (id, label, value, {min, max, step}, change, note = '') => {
  const field = node('input', {type: 'number', value, min, max, step}), slider = node('input', {type: 'range', value, min, max, step, 'aria-label': label});
  field.addEventListener('change', () => { slider.value = field.value; change(field.value); });
  slider.addEventListener('input', () => { field.value = slider.value; });
  slider.addEventListener('change', () => change(slider.value));
  return node('label', {id, class: 'number'}, node('span', {}, label), node('span', {class: 'sides'}, slider, field), ...note ? [node('span', {class: 'note'}, note)] : []);
};

export const mount = (root, page) => {
  const at = Object.fromEntries(['summary', 'strip', 'cards', 'why', 'blend', 'generated'].map(name => [name, node('div', {id: name})]));
  const box = page.queryBox({id: 'picture', textId: 'text', partId: 'part', page, submit: () => submit(), onItem: id => page.ask({picture: id, keep: true, q: box.value}),
    change: what => changed(what)});
  const instruction = node('input', {type: 'text', list: 'instructions', placeholder: 'as your words say', maxlength: page.run.limits.text, 'aria-label': 'Instruction'});
  const target = node('div', {}), quick = node('div', {id: 'quick'}), settings = node('details', {id: 'settings', class: 'popover'}), past = node('details', {id: 'past', class: 'popover'});
  const go = button({id: 'go', class: 'primary'}, () => submit(), 'Search');
  const shownExamples = node('div', {id: 'examples'}, ...examples(page.run.examples, page));
  const results = node('div', {id: 'results'}, at.summary, at.strip, at.cards, at.why, at.blend, at.generated);
  root.append(node('div', {id: 'search'},
    ...page.run.has_encoder ? [] : [node('p', {class: 'far'}, page.run.no_encoder)],
    node('form', {id: 'ask', role: 'search'}, box.field, box.text, target, go, node('div', {id: 'chips'}, quick, box.part, shownExamples, settings, past)), results));
  root.querySelector('#ask').addEventListener('submit', event => event.preventDefault());
  let shown = '', pending = null, search = {}, own = {...page.run.settings}, version = 0, warmed = '';
  const turns = {why: 0, blend: 0, strip: 0};    // of several clicks in a part, the last counts

  const settingsOf = given => Object.fromEntries(Object.keys(page.run.settings).map(name => [name, given[name] ?? page.run.settings[name]]));
  const searchOf = given => Object.fromEntries([...SEARCH, ...Object.keys(page.run.settings)].filter(name => given[name] !== undefined && given[name] !== '').map(name => [name, given[name]]));
  const asks = given => ['q', 'item', 'picture', 'example', 'upload'].some(name => given[name]);

  // Asking

  const uploadShown = async src => {    // the picture of an example
    const blob = await (await fetch(src)).blob();
    return page.upload(new File([blob], 'example.webp', {type: blob.type}));
  };
  const submit = async (more = {}) => {
    if ('waiting' in go.dataset) return;
    go.dataset.waiting = '';
    await box.ready();
    delete go.dataset.waiting;
    const {picture} = box, q = box.value.trim();
    if (picture && !picture.upload && !picture.item) picture.upload = await uploadShown(picture.src);
    if (!q && !picture) return page.tell('Type a description, add a picture, or both.');
    const mine = picture?.upload ? {upload: picture.upload, part: picture.part} : picture?.item ? {picture: picture.item} : {};
    const asked = {q, instruction: instruction.value.trim(), ...mine, ...own, ...more};
    const before = JSON.stringify(searchOf(page.address.get()));
    page.ask(asked);
    if (JSON.stringify(searchOf(page.address.get())) === before) answer();    // the same again: the collection may have changed
  };
  const changed = what => {
    const {picture} = box;
    drawQuick();
    if (what === 'part') return submit();
    if (picture?.upload && picture.upload !== warmed) {
      warmed = picture.upload;
      page.call('warm', {upload: warmed}).catch(() => {});    // the search will say what is wrong
    }
    if (what === 'picture' && shown) empty();    // a new picture, or none, leaves no old answer beside it
  };
  const drawQuick = () => {
    const asked = box.picture ? page.run.asks[box.value.trim() ? 'pair' : 'image'] : [];
    replace(quick, asked.length ? [node('div', {class: 'quick', role: 'group', 'aria-label': 'Ask about this picture'}, ...asked.map(words => button({}, () => {
      if (page.run.has_reader) box.value = words;
      else instruction.value = words;
      own.kind = page.run.settings.kind;
      submit();
    }, words.replace(/\.$/, ''))))] : []);
  };
  const useSetting = name => value => {
    own[name] = value;
    drawTarget();
    if (asks(page.address.get())) submit();
  };
  const drawTarget = () => replace(target, [choice('target', 'Kind of result', page.run.targets.map(({name, value}) => [name, value]), own.kind, useSetting('kind'), NOTES.kind)]);
  const drawSettings = () => {
    const {limits, has_codewords: codewords, has_fused: fused, grown, settings: usual, has_reader: reader} = page.run;
    const orders = [...fused ? [['Before coding', 'fused']] : [], ['Similarity', 'cosine'], ['ID score', 'score']];
    const ways = codewords ? [['Both', 'both'], ['Generate', 'generate'], ['Scan', 'scan']] : [['Generate', 'generate']];
    const fields = [
      node('label', {id: 'instruction', class: 'number'}, node('span', {}, reader ? 'Instruction, apart from your words' : 'Instruction'), instruction),
      number('beams', 'Beam size', own.beams, {min: 1, max: limits.beams, step: 1}, useSetting('beams'), NOTES.beams),
      number('k', 'Results', own.results, {min: 1, max: 100, step: 1}, useSetting('results')),
      choice('order', 'Order by', orders, own.order, useSetting('order'), NOTES.order),
      choice('mode', 'Find by', ways, own.by, useSetting('by'), NOTES.by),
      ...codewords ? [number('weight', 'Decoder weight', own.weight, {min: 0, max: 1, step: .05}, useSetting('weight'), NOTES.weight(usual.weight))] : [],
      ...grown ? [choice('scope', 'Search in', [['Everything', 'everything'], ['What was added', 'added']], own.in, useSetting('in'))] : [],
    ];
    settings.replaceChildren(node('summary', {}, 'Options'), node('div', {class: 'fields'}, ...fields,
      node('datalist', {id: 'instructions'}, ...page.run.instructions.map(words => node('option', {value: words})))));
  };
  instruction.addEventListener('keydown', event => { if (event.key === 'Enter' && !event.isComposing) { event.preventDefault(); submit(); } });

  // The last searches stay in this browser, but for pictures that were uploaded.

  const place = () => `genius-history-${page.run.name}`;
  const entries = () => JSON.parse(localStorage[place()] ?? '[]');
  const remember = (given, {past: words, unkept, form}) => {
    const {upload, part, ...asked} = given;
    if (!(asked.q || asked.item || asked.picture || asked.example)) return;    // there is nothing to repeat
    const id = asked.item || asked.picture, entry = {asked, title: words, unkept, instruction: form.instruction, ...id ? {picture: page.picture(id)} : {}};
    const others = entries().filter(one => JSON.stringify(one.asked) !== JSON.stringify(asked));
    localStorage[place()] = JSON.stringify([entry, ...others].slice(0, MOST_KEPT));
    if (past.open) drawPast();
  };
  const drawPast = () => {
    const entry = ({asked, title, instruction: wanted, unkept, picture}) => node('li', {}, button({class: 'entry'}, () => page.ask(asked),
      ...picture ? [node('img', {src: picture, alt: ''})] : [], node('span', {class: 'asked'}, title),
      ...wanted ? [node('span', {class: 'wanted'}, wanted)] : [], ...unkept ? [node('span', {class: 'wanted'}, 'with a picture that was not kept')] : []));
    const all = entries();
    past.lastElementChild.replaceChildren(...all.length ? [node('ol', {class: 'history', 'aria-label': 'Your last searches'}, ...all.map(entry))] : [],
      node('p', {class: 'label'}, all.length ? 'Click one to search again. ' : 'No searches yet. ', 'The last 20 searches stay in your browser; the pictures that you uploaded do not.'));
  };
  past.append(node('summary', {}, 'History'), node('div', {id: 'history'}));
  past.addEventListener('toggle', () => past.open && drawPast());
  addEventListener('storage', ({key}) => key === place() && past.open && drawPast());

  // The answer

  const empty = () => {
    pending?.abort();
    pending = null;
    shown = '';
    page.last = null;
    for (const part of Object.values(at)) replace(part, []);
    replace(at.cards, start());
    results.classList.remove('explained', 'pending');
    root.firstChild.classList.remove('searched');
  };
  const act = async (what, column, id, clicked) => {
    if (what === 'similar') return page.ask({item: id});
    if (what === 'use') return page.ask({picture: id, keep: true, q: box.value.trim()});
    const mine = version, turn = turns[what] += 1, wide = what === 'why' ? at.why : at.blend;
    const isLast = () => mine === version && turn === turns[what];
    if (what === 'why') {
      results.classList.add('explained');
      replace(wide, [node('p', {class: 'waiting', 'data-announced': ''}, 'Tracing the search…')]);
    }
    try {
      const value = await page.call(what, {search, id, column});
      if (!isLast()) return;
      const close = () => {
        replace(wide, []);
        if (what === 'why') results.classList.remove('explained');
        clicked?.focus();
      };
      const draw = (await import(`./${what}.js`))[what];
      replace(wide, what === 'why' ? draw(value, {act: (next, from) => act(next, column, id, from), close, page}) : draw(value, close));
      fillMeanings();
    } catch (error) {
      if (!isLast()) return;
      if (what === 'why') replace(wide, []);
      results.classList.toggle('explained', what !== 'why' && at.why.children.length > 0);
      page.fail(error);
    }
  };
  const drawStrip = async (value, found = null, branches = []) => {
    const mine = version, {steps} = await import('./steps.js');
    if (mine !== version) return;
    const show = async (column, rank, next) => {
      const turn = turns.strip += 1;
      try {
        const answered = await page.call('steps', {search, column, rank, branches: next});
        if (mine === version && turn === turns.strip) drawStrip(answered.strip, answered.found, next);
      } catch (error) { page.fail(error); }
    };
    replace(at.strip, steps(value, {page, found, follow: (column, rank) => show(column, rank, []), branch: one => show(value.column, value.rank, [...branches, one])}));
    fillMeanings();
  };
  const answer = async () => {
    pending?.abort();
    const mine = version += 1, mayEnd = pending = new AbortController();
    search = searchOf(page.address.get());
    shown = JSON.stringify(search);
    results.classList.add('pending');
    root.firstChild.classList.add('searched');
    import('./steps.js');    // while the server searches
    try {
      const value = await page.call('show', {search}, {signal: mayEnd.signal});
      if (mine !== version) return;
      fill(value);
      const how = {page, search, readAs: reading => page.ask({...searchOf(page.address.get()), reading}), act,
        changeInstruction: () => { settings.open = true; instruction.focus(); }};
      replace(at.summary, summary(value.summary, how));
      replace(at.cards, cards(value.columns, how));
      replace(at.generated, generated(value.generated));
      replace(at.why, []);
      replace(at.blend, []);
      results.classList.remove('explained');
      await drawStrip(value.strip);
      if (scrollY) scrollTo({top: 0});
      remember(search, value);
      page.answered({search, title: value.title});
    } catch (error) {
      if (mine === version) {
        if (!results.querySelector('.summary')) root.firstChild.classList.remove('searched');
        page.fail(error);
      }
    } finally {
      if (mine === version) {
        pending = null;
        results.classList.remove('pending');
      }
    }
  };
  // The form shows what was asked.
  const fill = ({form}) => {
    if (document.activeElement !== box.words) box.value = form.text;
    instruction.value = form.instruction;
    const given = page.address.get();
    if (given.upload) {
      if (box.picture?.upload !== given.upload) box.set({src: page.link('uploads/picture', {path: given.upload}), upload: given.upload, part: given.part ?? null});
    } else if (form.picture) box.set({src: page.link(form.picture), item: given.picture || given.item || ''});
    else box.set(null);
    drawQuick();
  };

  // What was typed outlives a reload.
  const left = JSON.parse(sessionStorage.left ?? '{}');
  if (left.href === location.href) { box.value = left.typed[0]; instruction.value = left.typed[1]; }
  addEventListener('pagehide', () => { sessionStorage.left = JSON.stringify({href: location.href, typed: [box.value, instruction.value]}); });
  box.words.addEventListener('input', drawQuick);
  drawSettings();
  drawTarget();
  empty();
  if (matchMedia('(hover: hover)').matches) box.words.focus({preventScroll: true});

  return {
    take: box.take,
    async update(given) {
      own = settingsOf(given);
      drawSettings();
      drawTarget();
      const next = JSON.stringify(searchOf(given));
      if (!asks(given)) {
        if (shown) { empty(); box.value = ''; instruction.value = ''; box.set(null); drawQuick(); }
        return;
      }
      if (next === shown) return;
      if (given.q && !box.value) box.value = given.q;
      await answer();
    },
    changed() {
      drawSettings();
      drawTarget();
    },
  };
};
