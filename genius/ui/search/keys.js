// Enter in an instruction searches or compares, as it does in a description; not where it chooses from the open list, or
// ends the composition of a character. The dropdown settles what was typed, hence the wait; it closes its list at the
// same key, so the key is looked at first.
{
  const BUTTONS = {'#instruction': '#go', '#compare-instruction': '#compare-go'};
  document.addEventListener('keydown', ({key, isComposing, target}) => {
    const [, go] = Object.entries(BUTTONS).find(([field]) => target.closest?.(field)) ?? [];
    const chooses = target.ariaExpanded === 'true' && target.hasAttribute('aria-activedescendant');
    if (go && key === 'Enter' && !isComposing && !chooses) setTimeout(() => document.querySelector(go).click(), 50);
  }, true);
}
