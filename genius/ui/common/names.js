// Names of codes, by prefix such as 0.17.
genius.names = {};
genius.setNames = names => {
  Object.assign(genius.names, names);
  genius.fillMeanings();
};

// Elements that show the name of a code, which may come after them.
genius.fillMeanings = () => document.querySelectorAll('[data-meaning]').forEach(one => {
  one.textContent = genius.names[one.dataset.meaning] ?? '';
});

// A small card tells the name of a code (data-prefix), or those of all codes of an ID, with typical pictures, and what a
// term means (data-hint): where the mouse points, where the keyboard's focus is, or where a finger taps.
genius.pictures = {};
(() => {
  const HINTED = '[data-prefix], [data-hint]', WAIT = 250;    // milliseconds
  const card = document.createElement('div');
  Object.assign(card, {className: 'hint-card', id: 'hint-card', hidden: true, role: 'tooltip'});
  let pointed = null, closed = null, soon;
  const hide = () => {
    clearTimeout(soon);
    pointed?.removeAttribute('aria-describedby');
    pointed = null;
    card.hidden = true;
  };

  const line = (words, className = '') => Object.assign(document.createElement('p'), {textContent: words, className});
  const named = ({dataset: {prefix}}) => genius.names[prefix]
    ? [line(`${prefix.replaceAll('.', ' · ')}: ${genius.names[prefix]}`, 'of-code')] : [];
  const lines = () => {
    const codes = pointed.dataset.prefix ? [pointed] : [...pointed.querySelectorAll('[data-prefix]')];
    const hint = pointed.closest('[data-hint]')?.dataset.hint;
    return [...codes.flatMap(named), ...hint ? [line(hint)] : []];
  };
  const image = ({picture, label}) => Object.assign(new Image(), {src: picture, alt: label});

  // Below what it is about, or above where there is no room; not where that is out of view.
  const place = () => {
    const {left, right, bottom, top} = pointed.getBoundingClientRect(), {offsetWidth, offsetHeight} = card;
    if (bottom < 0 || top > innerHeight || right < 0 || left > innerWidth) return hide();
    card.style.left = `${Math.max(4, Math.min(left, innerWidth - offsetWidth - 4))}px`;
    card.style.top = `${bottom + offsetHeight + 6 < innerHeight ? bottom + 4 : Math.max(4, top - offsetHeight - 4)}px`;
  };
  const show = () => {
    if (!pointed?.isConnected) return hide();
    const hints = lines(), pictures = genius.pictures[pointed.dataset.prefix] ?? [];
    if (!hints.length) return;
    card.replaceChildren(...pictures.map(image), ...hints,
      ...pictures.length ? [line('Shown: what is nearest to the average of its items.')] : []);
    if (!card.isConnected) document.body.append(card);
    card.hidden = false;
    pointed.setAttribute('aria-describedby', card.id);
    place();
  };
  genius.setPictures = (prefix, pictures) => {
    genius.pictures[prefix] = pictures;
    if (pointed?.dataset.prefix === prefix && !card.hidden) show();
  };

  const point = (target, wait) => {
    const found = target.closest?.(HINTED) ?? null;
    if (found === pointed) return;
    hide();
    if (!found) return;
    pointed = found;
    soon = setTimeout(() => {
      show();
      const {prefix} = found.dataset;
      if (!genius.names[prefix] || prefix in genius.pictures) return;
      genius.pictures[prefix] = null;    // asked for
      genius.wantPictures?.(prefix);
    }, wait);
  };
  document.addEventListener('pointerover', ({target, pointerType}) => pointerType === 'mouse' && point(target, WAIT));
  document.addEventListener('focusin', ({target}) => target.matches(':focus-visible') && point(target, WAIT));
  document.addEventListener('focusout', ({target}) => target.closest?.(HINTED) === pointed && hide());
  // A second tap closes the card; a tap on a button does what the button does.
  document.addEventListener('pointerdown', () => { closed = pointed; hide(); });
  document.addEventListener('pointerup', ({target, pointerType}) => {
    if (pointerType === 'mouse' || target.closest?.('button, a, summary') || target.closest?.(HINTED) === closed) return;
    point(target, 0);
  });
  document.addEventListener('keydown', hide);
  addEventListener('scroll', () => card.hidden || place(), {passive: true, capture: true});
})();
