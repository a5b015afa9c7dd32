const row = ({label, color, counts}, place) => {
  const show = button({class: 'link', title: `Show the items of ${label}`}, () => emit('select', {group: place}), label);
  return node('tr', {},
    node('th', {scope: 'row'}, node('i', {class: 'swatch', style: `background: ${color}`}), show),
    ...counts.map(count => node('td', {}, count.toLocaleString('en'))));
};

const draw = value => !value ? []
  : [scrollRegion('Items of each color', 'scroll map-table', tableOf(value.headers, value.rows.map(row)))];
