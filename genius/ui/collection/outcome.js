const draw = ({title, lines, done, found}) => {
  const moving = done !== undefined && done < 1;
  return [node('div', {class: 'collection-outcome', ...moving && done ? {} : {'data-announced': ''}}, node('p', {class: 'title'}, title),
    ...moving ? [node('progress', {value: done, 'aria-label': 'Added'})] : [], ...lines.map(line => node('p', {}, line)),
    ...found ? [node('p', {}, button({class: 'plain'}, () => emit('search_added', {}), 'Search in what was added'))] : [])];
};
