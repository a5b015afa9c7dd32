const host = element.querySelector('.figure-host');
host.setAttribute('role', 'figure');
host.setAttribute('aria-label', props.alternative);

const pointData = point => ({
  index: point.pointIndex ?? point.pointNumber,
  value: point.customdata ?? point.id ?? null,
  label: point.label ?? null,
});
// A finger that drags over a figure scrolls the page, unless its visitor chose another mode.
let chosen = null, dragMode = touched ? false : null;
const onClick = ({points}) => {
  const [first] = points.map(pointData);
  if (first?.value == null) return;    // bars and lines stand for no item and no prefix
  chosen = first.value;
  drawRing();
  if (props.opens_codes) genius.send.open_code(first.value);
  else emit('select', first);
};
const onLasso = event => {
  const points = event?.points ?? [];
  emit('lasso', {points: points.slice(0, props.most_lassoed).map(pointData), total: points.length});
};

// In a figure that keeps its zoom, a ring round the point that was picked last, wherever the view puts it.
const drawRing = () => {
  if (chosen === null || !host.layout.uirevision) return;
  const shapes = host._fullData.flatMap(({customdata, x, y}) => {
    const index = customdata?.indexOf(chosen) ?? -1;
    return index < 0 ? [] : [{type: 'circle', xsizemode: 'pixel', ysizemode: 'pixel', xanchor: x[index], yanchor: y[index],
      x0: -9, x1: 9, y0: -9, y1: 9, line: {width: 2.5, color: getComputedStyle(host).color}}];
  });
  Plotly.relayout(host, {shapes});
};

// A tab that is about to open has no width yet.
new ResizeObserver(() => host.bound && host.clientWidth && Plotly.Plots.resize(host)).observe(host);

const draw = async () => {
  host.hidden = !props.value;
  if (!props.value) return;
  const {data, layout} = JSON.parse(props.value);
  if (layout.height) host.style.height = `${layout.height}px`;
  if (dragMode !== null) layout.dragmode = dragMode;
  await drawPlot(host, {data, layout});
  drawRing();
  host.dispatchEvent(new Event('drawn', {bubbles: true}));
  if (host.bound) return;
  host.bound = true;
  host.on('plotly_click', onClick);
  host.on('plotly_selected', onLasso);
};

// What the page says dragging does, which outlives updates as the zoom does.
host.addEventListener('dragmode', ({detail}) => {
  dragMode = detail === 'off' ? false : detail;
  if (host.layout) Plotly.relayout(host, {dragmode: dragMode});
});

// One figure of the page at a time and a frame between them: the first of a tab is seen before the last is drawn.
const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));    // once it is painted
let queued = false;
const drawInTurn = () => {
  if (queued) return;
  queued = true;
  const before = [window.figuresDrawn, props.after_text && frame()];
  const drawn = Promise.all(before).then(() => { queued = false; return draw(); });
  window.figuresDrawn = drawn.then(frame, error => { console.error(error); });
};

drawInTurn();
watch('value', drawInTurn);
onTheme(drawInTurn);
