// Shared by all panels. Data becomes text nodes and attribute values, never markup.
const node = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

// An ID as chips. The codes that the query's own ID shares are marked, for the eye and for a screen reader.
const chips = ({codes, shared}) => {
  const list = node('span', {class: 'codes'});
  codes.forEach((code, level) => {
    const one = node('span', {class: 'level'},
      node('span', {class: level < shared ? 'code shared' : 'code'}, String(code)));
    if (level + 1 < codes.length) one.append(' ·');
    list.append(one, ' ');
  });
  list.title = shared ? `first ${shared} of ${codes.length} codes are the query's own`
    : 'no code shared with the query';
  return list;
};

const show = draw => {
  const redraw = () => element.querySelector('.panel').replaceChildren(...draw(props.value));
  redraw();
  watch('value', redraw);
};
