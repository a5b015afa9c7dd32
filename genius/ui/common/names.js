// Names of codes, by prefix such as 0.17. A code with data-prefix tells its name when it is pointed at.
genius.names = {};
genius.setNames = names => {
  Object.assign(genius.names, names);
  document.dispatchEvent(new Event('names'));
};
document.addEventListener('pointerover', ({target}) => {
  const code = target.closest?.('[data-prefix]'), name = code && genius.names[code.dataset.prefix];
  if (!name || code.dataset.named === name) return;
  code.dataset.named = name;
  code.title = [code.dataset.prefix.replaceAll('.', ' · ') + ': ' + name, code.title].filter(Boolean).join('\n');
});
