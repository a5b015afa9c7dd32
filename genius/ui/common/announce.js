// Tells a screen reader what is marked data-announced in panels that changed: the words in that attribute, or else the
// whole text. One node, which stays, takes all texts, because a node that comes with its text is often not read. Panels
// that change together are read together, once they can be seen.
(() => {
  const WAIT = 150;    // milliseconds
  const node = Object.assign(document.createElement('div'), {id: 'announcer'});
  node.setAttribute('role', 'status');
  const changed = new Set();
  let timer;
  genius.say = words => {    // also what no panel shows
    if (!node.isConnected) document.body.append(node);
    node.textContent = words;
  };
  genius.announce = panel => {
    if (!node.isConnected) document.body.append(node);
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
