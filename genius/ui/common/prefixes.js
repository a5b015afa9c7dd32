// Each code is a button that opens all items whose IDs begin with the codes up to it.
const prefixes = codes => node('p', {class: 'codes', role: 'group', 'aria-label': 'ID'}, ...codes.flatMap((code, level) => {
  const prefix = codes.slice(0, level + 1), hint = `Click to see all items whose ID begins with ${prefix.join(' · ')}.`;
  const open = button({class: 'code', 'data-prefix': prefix.join('.'), 'data-hint': hint},
    () => genius.send.open_code(prefix.join('.')), String(code));
  return [node('span', {class: 'level'}, open, level + 1 < codes.length ? ' ·' : ''), ' '];
}));
