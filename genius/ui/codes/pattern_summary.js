const crumb = ({name, key, open}, place, crumbs) => {
  const last = place === crumbs.length - 1;
  if (open) return node('li', {}, name);
  const current = last ? {'aria-current': 'true'} : {};
  return node('li', {}, button({'data-prefix': key, ...current}, () => genius.send.open_code(key), name));
};

const modalityShare = ({name, modality, items}) => node('span', {class: `target ${modality}`}, `${name} ${items}`);

const note = ({crumbs, items, common}) => {
  const {key} = crumbs.at(-1), address = new URL(location.pathname, location.origin);
  address.search = new URLSearchParams({tab: 'codes', code: key});
  const text = node('textarea', {rows: 3, 'aria-label': 'Note'});
  text.value = `${key.replaceAll('.', ' · ')}${common && `: ${common}`} (${items})\n${address}`;
  return folded('A note to copy', text, copyButton(text, 'note'));
};

const draw = value => {
  if (!value) return [node('div', {class: 'empty'}, node('h2', {}, 'Loading the codes…'))];
  const {crumbs, items, empty, common, nothing_common: nothing, sentences, modalities} = value;
  return [node('section', {class: 'codes-summary box'},
    node('div', {class: 'answer-line'},
      node('nav', {'aria-label': 'Codes from the first level'}, node('ol', {class: 'crumbs'}, ...crumbs.map(crumb))),
      node('span', {class: 'ways'}, button({class: 'link'}, () => emit('random', {}), 'A random one'))),
    node('h2', {'data-announced': ''}, empty ? 'Nothing matches' : items,
      common ? ` · ${nothing ? 'nothing in common' : common}` : ''),
    node('p', {class: 'sentence'}, sentences.join(' ')),
    ...modalities.length < 2 ? [] : [
      node('p', {class: 'targets'}, ...modalities.map(modalityShare)),
      node('div', {class: 'bar', 'aria-hidden': 'true'},
        ...modalities.map(({modality, share}) => node('i', {class: modality, style: `width: ${100 * share}%`})))],
    ...crumbs.length > 1 ? [note(value)] : [])];
};
