// Search and Compare wait for a picture that is still being uploaded: Gradio would ask without it.
{
  const PICTURES = {'#go': '#picture', '#compare-go': '#compare-picture'};
  const BUTTONS = {'#text textarea': '#go', '#compare-text textarea': '#compare-go'};
  const uploads = go => document.querySelector(`${PICTURES[go]} .uploading`);

  const waitFor = go => {
    const button = document.querySelector(go), picture = document.querySelector(PICTURES[go]);
    if ('waiting' in button.dataset) return;
    button.dataset.waiting = '';
    genius.say('The picture is still being uploaded. Then the search starts.');
    const observer = new MutationObserver(() => {
      if (uploads(go)) return;
      observer.disconnect();
      setTimeout(() => {    // a picture that arrived has its value by then; of one that did not, Gradio tells
        delete button.dataset.waiting;
        if (picture.querySelector('img')) button.click();
      }, 100);
    });
    observer.observe(picture, {childList: true, subtree: true});
  };

  const hold = (event, go) => {
    if (!go || !uploads(go)) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    waitFor(go);
  };
  const entryFor = (table, target) => Object.entries(table).find(([selector]) => target.closest?.(selector));

  document.addEventListener('click', event => hold(event, entryFor(PICTURES, event.target)?.[0]), true);
  document.addEventListener('keydown', event => {
    if (event.key === 'Enter' && !event.isComposing) hold(event, entryFor(BUTTONS, event.target)?.[1]);
  }, true);
}
