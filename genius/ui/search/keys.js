// Enter in an instruction searches or compares, as it does in a description; not where it chooses from the open list, or
// ends the composition of a character. The dropdown settles what was typed, hence the wait; it closes its list at the
// same key, so the key is looked at first. A list that is reordered after an arrow key may forget which entry the arrow reached,
// so an Enter that follows an arrow key never searches.
{
  const BUTTONS = {'#instruction': '#go', '#compare-instruction': '#compare-go'};
  let arrowed = null; // the field whose list an arrow key moved in last
  for (const kind of ['input', 'focusout'])
    document.addEventListener(kind, () => { arrowed = null; }, true);
  document.addEventListener('keydown', ({key, isComposing, target}) => {
    const [, go] = Object.entries(BUTTONS).find(([field]) => target.closest?.(field)) ?? [];
    if (!go || isComposing) return;
    const chooses = arrowed === target
      || target.ariaExpanded === 'true' && target.hasAttribute('aria-activedescendant');
    arrowed = key === 'ArrowDown' || key === 'ArrowUp' ? target : null;
    if (key === 'Enter' && !chooses) setTimeout(() => document.querySelector(go).click(), 50);
  }, true);
}
// Tab, and Shift+Tab, leave a list of choices by its field. Gradio looks at a key only once the field may be left, and then
// opens the list again; and a browser lets Tab stop in whatever scrolls, here in the list, which is gone by then.
document.addEventListener('keydown', event => {
  const field = event.target;
  if (!['Tab', 'Shift'].includes(event.key) || field.getAttribute('role') !== 'combobox') return;
  event.stopPropagation();
  document.getElementById(field.getAttribute('aria-controls'))?.setAttribute('tabindex', '-1');
}, true);

// What lies over the page closes by Escape, which leaves the focus where it was opened, and by a click elsewhere.
genius.closeMenus = (inside = null) => {
  for (const opened of document.querySelectorAll('details.menu[open] > summary, .popover > .label-wrap.open')) {
    if (inside && opened.parentElement.contains(inside)) continue;
    if (!inside && opened.parentElement.contains(document.activeElement)) opened.focus();
    opened.click();
  }
};
document.addEventListener('pointerdown', ({target}) => {    // a list of choices hangs elsewhere in the page
  if (!target.closest('[role=listbox]')) genius.closeMenus(target);
});

// The chips and the answer line are one Tab stop each. Arrow keys move within them, from card to card, and among tabs.
{
  const BARS = '#chips:not(:has(.label-wrap.open)), #summary .answer-line, #target, [role=tablist]', STOPS = 'button, summary, input, .levels';
  const seen = (bar, stops) => [...bar.querySelectorAll(stops)].filter(one => one.checkVisibility() && !one.disabled);
  const leave = (bar, stops) => {
    const others = seen(bar, stops).filter(one => one !== document.activeElement);
    const before = others.map(one => one.getAttribute('tabindex'));
    others.forEach(one => one.setAttribute('tabindex', '-1'));
    setTimeout(() => others.forEach((one, place) => before[place] === null ? one.removeAttribute('tabindex')
      : one.setAttribute('tabindex', before[place])));
  };
  const rowLength = cards => cards.findIndex(card => card.offsetTop !== cards[0].offsetTop);
  document.addEventListener('keydown', event => {
    const {key, target} = event;
    if (key === 'Escape') genius.closeMenus();
    const card = target.closest?.('#cards .card'), bar = card ?? target.closest?.(BARS);
    if (!bar || target.closest('.menu .choices')) return;
    if (key === 'Tab') return card || leave(bar, STOPS);
    const all = card ? seen(document.getElementById('cards'), '.title') : seen(bar, STOPS);
    const down = card ? Math.max(1, rowLength(all.map(one => one.closest('.card')))) : 1;
    const by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -down, ArrowDown: down}[key];
    const next = by && all[all.indexOf(card ? card.querySelector('.title') : target) + by];
    if (!next) return;
    event.preventDefault();
    next.focus();
    if (next.matches('[role=tab], [type=radio]')) next.click();
  });
}
// Paper is white: what is printed has the light colors.
{
  let dark = false;
  addEventListener('beforeprint', () => { dark = document.body.classList.contains('dark'); document.body.classList.remove('dark'); });
  addEventListener('afterprint', () => document.body.classList.toggle('dark', dark));
}
// The first stop of the Tab key leads to the results.
document.body.prepend(button({class: 'skip'}, () => {
  const results = document.getElementById('results');
  results.tabIndex = -1;
  results.focus();
}, 'Skip to the results'));
