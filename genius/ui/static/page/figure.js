// Figures of plotly, whose script comes from the installed package when a figure is first needed.
import {node} from './nodes.js';

let loading;
export const plotly = () => loading ??= new Promise((done, fail) => {
  const script = node('script', {src: new URL('../plotly.js', import.meta.url).href});
  script.addEventListener('load', () => done(window.Plotly));
  script.addEventListener('error', () => { loading = null; fail(new Error('The script for figures cannot be loaded; reload the page.')); });
  document.head.append(script);
});

// The theme's own colors, wherever the figure names none.
const themed = (host, layout) => {
  const style = getComputedStyle(host), color = name => style.getPropertyValue(name).trim();
  const axes = Object.keys(layout).filter(name => /^[xy]axis\d*$/.test(name));
  const colored = {...layout, font: {family: style.fontFamily, size: 13, ...layout.font, color: color('--ink')},
    hoverlabel: {...layout.hoverlabel, bgcolor: color('--card'), bordercolor: color('--line'), font: {color: color('--ink'), family: style.fontFamily}}};
  for (const axis of new Set(['xaxis', 'yaxis', ...axes]))
    colored[axis] = {gridcolor: color('--line'), zerolinecolor: color('--line'), linecolor: color('--line'), tickcolor: color('--line'), ...layout[axis]};
  return colored;
};

// host: where it is drawn, named `alternative` for a screen reader. onClick: gets what a point stands for (customdata).
export const figure = async (host, {data, layout}, {alternative = '', onClick} = {}) => {
  const Plotly = await plotly();
  host.setAttribute('role', 'figure');
  host.setAttribute('aria-label', alternative);
  if (layout.height) host.style.height = `${layout.height}px`;
  const draw = () => Plotly.react(host, data, themed(host, layout), {responsive: true, displaylogo: false,
    displayModeBar: matchMedia('(pointer: coarse)').matches && layout.legend?.yref === 'container' ? false : 'hover',
    modeBarButtonsToRemove: ['toImage', 'sendChartToCloud', 'autoScale2d', 'select2d', 'lasso2d']});
  await draw();
  host.dispatchEvent(new Event('drawn', {bubbles: true}));
  if (host.bound) return;
  host.bound = true;
  host.on('plotly_click', ({points: [point]}) => {
    const value = point?.customdata ?? point?.id;
    if (value != null) onClick?.(value);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => host.isConnected && draw());
  addEventListener('theme', () => host.isConnected && draw());
};
