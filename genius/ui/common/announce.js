// What a screen reader is to read out: one node that stays, because a node that comes with its text is often not read. Panels
// that change together are read together.
(() => {
  const WAIT = 100;    // milliseconds
  const node = Object.assign(document.createElement('div'), {className: 'announcer', id: 'announcer'});
  node.setAttribute('role', 'status');
  let waiting = [], due;
  genius.announce = words => {
    if (!words.length) return;
    if (!node.isConnected) document.body.append(node);
    waiting.push(...words);
    clearTimeout(due);
    due = setTimeout(() => {
      node.textContent = waiting.join(' ');
      waiting = [];
    }, WAIT);
  };
})();
