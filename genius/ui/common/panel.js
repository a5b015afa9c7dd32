// Comes before the script of each panel and figure: events to the server, and drawing.

// Gradio repeats an event that came while its last one was being answered, but with the data of that last one: a second
// quick click would show what the first had chosen. So all events of one name share one object.
const sent = {};
const emit = (name, data) => {
  const shared = sent[name] ??= {};
  for (const field of Object.keys(shared)) delete shared[field];
  trigger(name, Object.assign(shared, data));
};

// The data of a panel: the server sends it as JSON text; what a script wrote itself is no text.
const panelData = () => typeof props.value === 'string' && props.value ? JSON.parse(props.value) : props.value || null;

// Draws a panel anew, and announces it (announce.js). The keyboard's focus stays at its control, which is found again by
// its name or else by its place.
const CONTROLS = 'a[href], button, input, select, summary, textarea, [tabindex]';
const nameOf = control => control.dataset.key ?? control.getAttribute('aria-label') ?? control.textContent;
const replaceContent = nodes => {
  const panel = element.querySelector('.panel'), controls = () => [...panel.querySelectorAll(CONTROLS)];
  const before = panel.contains(document.activeElement) ? controls() : [];
  const place = before.indexOf(document.activeElement), name = place < 0 ? '' : nameOf(before[place]);
  const earlier = before.slice(0, Math.max(place, 0)).filter(control => nameOf(control) === name).length;
  panel.replaceChildren(...nodes);
  genius.announce(element);
  if (place < 0) return;
  const after = controls(), alike = after.filter(control => nameOf(control) === name);
  (alike[earlier] ?? alike.at(-1) ?? after[place] ?? after.at(-1))?.focus({preventScroll: true});
};

const drawPanel = draw => {
  replaceContent(draw(panelData()));
  watch('value', () => replaceContent(draw(panelData())));
};
