// Draws plotly figures in the theme's own colors, wherever the figure names none.
const touched = matchMedia('(pointer: coarse)').matches;

const themed = (host, layout) => {
  const style = getComputedStyle(host);
  const ink = style.getPropertyValue('--body-text-color').trim();
  const faint = style.getPropertyValue('--border-color-primary').trim();
  const paper = style.getPropertyValue('--background-fill-primary').trim();
  const axes = Object.keys(layout).filter(name => /^[xy]axis\d*$/.test(name));
  const colored = {...layout, font: {family: style.fontFamily, size: 13, ...layout.font, color: ink},
    hoverlabel: {...layout.hoverlabel, bgcolor: paper, bordercolor: faint,
      font: {color: ink, family: style.fontFamily}}};
  for (const axis of new Set(['xaxis', 'yaxis', ...axes]))
    colored[axis] = {gridcolor: faint, zerolinecolor: faint, linecolor: faint, tickcolor: faint, ...layout[axis]};
  return colored;
};

const drawPlot = (host, {data, layout}) => {
  // Without a mouse plotly's buttons never go, and would cover a legend that lies above.
  const buttons = touched && layout.legend?.yref === 'container' ? false : 'hover';
  return Plotly.react(host, data, themed(host, layout), {responsive: true, displaylogo: false, displayModeBar: buttons,
    plotGlPixelRatio: devicePixelRatio,     // plotly's own is 2: four times the pixels, which hosts without a GPU paint
    modeBarButtonsToRemove: ['toImage', 'sendChartToCloud', 'autoScale2d', 'select2d']});
};

// Calls `change` for another theme: other classes come and go, too, as with the tour.
const onTheme = change => {
  const isDark = () => document.body.classList.contains('dark');
  let wasDark = isDark();
  new MutationObserver(() => {
    if (isDark() === wasDark) return;
    wasDark = isDark();
    change();
  }).observe(document.body, {attributes: true, attributeFilter: ['class']});
};
