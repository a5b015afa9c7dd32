// Tells a screen reader what is marked data-announced in panels that changed: the words in that attribute, or else the
// whole text. One node, which stays, takes all texts, because a node that comes with its text is often not read. Panels
// that change together are read together, once they can be seen.
(() => {
  const WAIT = 150;    // milliseconds
  const status = node('div', {id: 'announcer', role: 'status'});
  const changed = new Set();
  let timer;
  genius.say = words => {    // also what no panel shows
    if (!status.isConnected) document.body.append(status);
    status.textContent = words;
  };
  // A message that is seen, with something to do about it, until it is closed or there is another answer.
  genius.tell = (words, name, act) => {
    genius.quiet();
    document.body.append(node('p', {id: 'told', role: 'alert'}, words, ...name ? [button({}, act, name)] : [],
      button({'aria-label': 'Close'}, genius.quiet, '×')));
  };
  genius.quiet = () => {
    document.getElementById('told')?.remove();
    document.querySelectorAll('[data-testid=toast-close].error').forEach(close => close.click());
  };
  genius.announce = panel => {
    if (!status.isConnected) document.body.append(status);
    changed.add(panel);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const marked = [...changed].flatMap(changedPanel => [...changedPanel.querySelectorAll('[data-announced]')]);
      const words = marked.filter(text => text.checkVisibility()).map(text => text.dataset.announced || text.textContent);
      if (words.length) genius.say(words.join(' '));
      changed.clear();
    }, WAIT);
  };
})();
