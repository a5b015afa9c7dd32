const action = (label, title, onClick) => button({class: 'plain', title}, onClick, label);

// A button whose first click asks for confirmation; the second acts, but not that of a double click, nor a key that is held.
const PAUSE = 600, PATIENCE = 6000;    // milliseconds after the question: until an answer counts, and until none does
const confirmed = (label, title, act) => {
  let asked, patience;
  const disarm = () => {
    clearTimeout(patience);
    made.classList.remove('sure');
    made.textContent = label;
  };
  const made = action(label, title, () => {
    if (!made.classList.contains('sure')) {
      asked = performance.now();
      made.classList.add('sure');
      made.textContent = `Really ${label.toLowerCase()}?`;
      patience = setTimeout(disarm, PATIENCE);    // Safari gives a clicked button no focus, so that none is lost
    } else if (performance.now() - asked > PAUSE) {
      disarm();
      act();
    }
  });
  made.addEventListener('blur', disarm);
  made.addEventListener('keydown', event => { if (event.repeat) event.preventDefault(); });
  return made;
};
