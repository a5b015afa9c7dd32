// What becomes of a working copy.
const draw = value => {
  if (!value) return [];
  const name = node('input', {id: 'collection-name', type: 'text', required: '', maxlength: 64, autocomplete: 'off'});
  const form = node('form', {class: 'line'}, node('label', {for: 'collection-name'}, `Keep as a run: ${value.kept}/`), name,
    node('button', {class: 'plain'}, 'Keep'), confirmed('Forget', 'Forget all changes', () => emit('forget', {})));
  form.addEventListener('submit', event => {
    event.preventDefault();
    emit('keep', {name: name.value});
  });
  return [form];
};
