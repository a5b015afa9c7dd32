// Brings a part of the page into view, and keeps it there while it or the page grows, until the visitor does something.
genius.reveal = (() => {
  let growing;
  const stop = () => growing?.disconnect();
  for (const act of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
    addEventListener(act, stop, {capture: true, passive: true});
  return (part, block = 'start') => {
    stop();
    const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
    growing = new ResizeObserver(() => part.scrollIntoView({block, behavior}));
    growing.observe(part);    // it tells the first size, too
    growing.observe(document.body);    // what grows above or below moves the part, or makes room for it
  };
})();
