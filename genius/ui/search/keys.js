// Enter in the instruction searches, as it does in the description. The dropdown takes the key first,
// to settle what was typed or picked, hence the wait.
document.addEventListener('keydown', event => {
  if (event.key === 'Enter' && event.target.closest?.('#instruction'))
    setTimeout(() => document.querySelector('#go')?.click(), 50);
});
