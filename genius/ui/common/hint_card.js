// The names of codes, by prefix such as 0.17, and the card that shows them.
genius.names = {};
genius.setNames = names => {
  Object.assign(genius.names, names);
  genius.fillMeanings();
};

// The first word of a name; none where the items have no common meaning.
genius.shortName = prefix => genius.names[prefix]?.match(/^(?!no common meaning)[^,]+/)?.[0];

// Elements that show the name of a code, or its first word in place of what they show, which may come after them.
genius.fillMeanings = () => {
  document.querySelectorAll('[data-meaning]').forEach(meaning => {
    meaning.textContent = genius.names[meaning.dataset.meaning] ?? '';
  });
  document.querySelectorAll('[data-short]').forEach(short => {
    const name = genius.shortName(short.dataset.short);
    if (name) short.textContent = short.closest('#why') ? `“${name}”` : name;
  });
};

// A small card shows the name of a code (data-prefix), or those of all codes of an ID, with typical pictures, and what a
// term means (data-hint): for what the mouse points at, what has the keyboard's focus, or what a finger taps.
genius.pictures = {};
(() => {
  const HINTED = '[data-prefix], [data-hint]', WAIT = 250;    // milliseconds
  const card = node('div', {class: 'hint-card', id: 'hint-card', hidden: '', role: 'tooltip'});
  let anchor = null, closedAnchor = null, timer;
  const hide = () => {
    clearTimeout(timer);
    anchor?.removeAttribute('aria-describedby');
    anchor = null;
    card.hidden = true;
  };

  const line = (words, className = '') => node('p', {class: className}, words);
  const nameLine = ({dataset: {prefix}}) => genius.names[prefix]
    ? [line(`${prefix.replaceAll('.', ' · ')}: ${genius.names[prefix]}`, 'of-code')] : [];
  const lines = () => {
    const codes = anchor.dataset.prefix ? [anchor] : [...anchor.querySelectorAll('[data-prefix]')];
    const hint = anchor.closest('[data-hint]')?.dataset.hint;
    return [...codes.flatMap(nameLine), ...hint ? [line(hint)] : []];
  };
  const image = ({picture, label}) => node('img', {src: picture, alt: label});

  // Below its anchor, or above where there is no room; hidden where the anchor is out of view.
  const place = () => {
    const {left, right, bottom, top} = anchor.getBoundingClientRect(), {offsetWidth, offsetHeight} = card;
    if (bottom < 0 || top > innerHeight || right < 0 || left > innerWidth) return hide();
    card.style.left = `${Math.max(4, Math.min(left, innerWidth - offsetWidth - 4))}px`;
    card.style.top = `${bottom + offsetHeight + 6 < innerHeight ? bottom + 4 : Math.max(4, top - offsetHeight - 4)}px`;
  };
  const show = () => {
    if (!anchor?.isConnected) return hide();
    const hints = lines(), pictures = genius.pictures[anchor.dataset.prefix] ?? [];
    if (!hints.length) return;
    card.replaceChildren(...pictures.map(image), ...hints,
      ...pictures.length ? [line('Shown: what is nearest to the average of its items.')] : []);
    if (!card.isConnected) document.body.append(card);
    card.hidden = false;
    anchor.setAttribute('aria-describedby', card.id);
    place();
  };
  genius.setPictures = (prefix, pictures) => {
    genius.pictures[prefix] = pictures;
    if (anchor?.dataset.prefix === prefix && !card.hidden) show();
  };

  // At once, without wait: a screen reader reads the description of what gets the focus then.
  const anchorTo = (target, wait = false) => {
    const hinted = target.closest?.(HINTED) ?? null;
    if (hinted === anchor) return;
    hide();
    if (!hinted) return;
    anchor = hinted;
    if (!wait) show();
    timer = setTimeout(() => {
      if (wait) show();
      const {prefix} = hinted.dataset;
      if (!genius.names[prefix] || prefix in genius.pictures) return;
      genius.pictures[prefix] = null;    // asked for
      genius.wantPictures?.(prefix);
    }, WAIT);
  };
  document.addEventListener('pointerover', ({target, pointerType}) => pointerType === 'mouse' && anchorTo(target, true));
  document.addEventListener('focusin', ({target}) => target.matches(':focus-visible') && anchorTo(target));
  document.addEventListener('focusout', ({target}) => target.closest?.(HINTED) === anchor && hide());
  // A second tap closes the card; a tap on a button does what the button does.
  document.addEventListener('pointerdown', () => { closedAnchor = anchor; hide(); });
  document.addEventListener('pointerup', ({target, pointerType}) => {
    if (pointerType === 'mouse' || target.closest?.('button, a, summary') || target.closest?.(HINTED) === closedAnchor) return;
    anchorTo(target);
  });
  document.addEventListener('keydown', hide);
  addEventListener('scroll', () => card.hidden || place(), {passive: true, capture: true});
})();
