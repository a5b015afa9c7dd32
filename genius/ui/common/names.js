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

// Its typical pictures, in a small card below it; asked for once.
genius.pictures = {};
(() => {
  const card = document.createElement('div');
  card.className = 'code-card';
  card.hidden = true;
  let pointed = null, soon;
  const hide = () => {
    clearTimeout(soon);
    pointed = null;
    card.hidden = true;
  };
  const show = () => {
    const known = genius.pictures[pointed?.dataset.prefix];
    if (!known?.length || !pointed.isConnected) return;
    const images = known.map(({picture, label}) => {
      const image = document.createElement('img');
      image.src = picture;
      image.alt = label;
      return image;
    }), words = document.createElement('p');
    words.textContent = `nearest to its average: ${genius.names[pointed.dataset.prefix]}`;
    card.replaceChildren(...images, words);
    if (!card.isConnected) document.body.append(card);
    card.hidden = false;
    const {left, bottom, top} = pointed.getBoundingClientRect(), {offsetWidth, offsetHeight} = card;
    card.style.left = `${Math.max(4, Math.min(left, innerWidth - offsetWidth - 4))}px`;
    card.style.top = `${bottom + offsetHeight + 6 < innerHeight ? bottom + 4 : Math.max(4, top - offsetHeight - 4)}px`;
  };
  genius.setPictures = (prefix, pictures) => {
    genius.pictures[prefix] = pictures;
    show();
  };
  const point = ({target}) => {
    const code = target.closest?.('[data-prefix]') ?? null;
    if (code === pointed) return;
    hide();
    const prefix = code?.dataset.prefix;
    if (!prefix || !genius.names[prefix]) return;
    pointed = code;
    soon = setTimeout(() => {
      if (prefix in genius.pictures) show();
      else {
        genius.pictures[prefix] = null;    // asked for
        genius.wantPictures?.(prefix);
      }
    }, 250);
  };
  for (const event of ['pointerover', 'focusin']) document.addEventListener(event, point);
  for (const event of ['pointerdown', 'keydown']) document.addEventListener(event, hide);
  addEventListener('scroll', hide, {passive: true, capture: true});
})();
