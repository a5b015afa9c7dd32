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
// Arrow keys move along the tabs, and the first stop of the Tab key leads to the results.
document.addEventListener('keydown', ({key, target}) => {
  const step = {ArrowLeft: -1, ArrowRight: 1}[key];
  if (!step || target.getAttribute('role') !== 'tab') return;
  const tabs = [...target.parentElement.querySelectorAll('[role=tab]')];
  const next = tabs[(tabs.indexOf(target) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
});
document.body.prepend(button({class: 'skip'}, () => {
  const results = document.getElementById('results');
  results.tabIndex = -1;
  results.focus();
}, 'Skip to the results'));
