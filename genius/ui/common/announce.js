// Reads out to a screen reader what is marked data-announced in panels that changed: by one node that stays, because a node
// that comes with its text is often not read. Panels that change together are read together, once they can be seen.
(() => {
  const WAIT = 150;    // milliseconds
  const node = Object.assign(document.createElement('div'), {className: 'announcer', id: 'announcer'});
  node.setAttribute('role', 'status');
  const changed = new Set();
  let due;
  genius.say = words => {    // also what no panel shows
    if (!node.isConnected) document.body.append(node);
    node.textContent = words;
  };
  genius.announce = panel => {
    if (!node.isConnected) document.body.append(node);
    changed.add(panel);
    clearTimeout(due);
    due = setTimeout(() => {
      const marked = [...changed].flatMap(one => [...one.querySelectorAll('[data-announced]')]);
      const words = marked.filter(one => one.checkVisibility()).map(one => one.textContent);
      if (words.length) genius.say(words.join(' '));
      changed.clear();
    }, WAIT);
  };
})();
