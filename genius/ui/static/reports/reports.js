// Reports: every report of the run, as plots and tables.
import {figure} from '../page/figure.js';
import {button, node, replace, reveal, scrollRegion, tableOf} from '../page/nodes.js';

// Notes are Markdown: *emphasis* and `code`; whatever is in them becomes text nodes.
const prose = text => text.split(/(\*[^*\n]+\*|`[^`\n]+`)/).map((part, place) =>
  place % 2 ? node(part[0] === '*' ? 'em' : 'code', {}, part.slice(1, -1)) : part);
const note = text => node('p', {class: 'note'}, ...prose(text));
const table = ({title, note: about, columns, rows, words, bold}) => node('section', {}, ...about ? [note(about)] : [],
  scrollRegion(title, 'scroll', tableOf(columns, rows.map((row, at) => node('tr', {}, ...row.map((text, place) =>
    node('td', {class: `${words[place] ? 'word' : 'figure'}${bold[at][place] ? ' best' : ''}`}, text)))), words)));

// Its content is made when it is opened; `opened` remembers which ones are, across a change of the reports.
const opened = new Map();
const fold = (key, title, open, content) => {
  const made = node('details', {class: 'fold'}, node('summary', {}, title));
  const fill = () => { if (made.childElementCount === 1) made.append(...content()); };
  made.addEventListener('toggle', () => {
    opened.set(key, made.open);
    if (made.open) fill();
  });
  if (opened.get(key) ?? open) { made.open = true; fill(); }
  return made;
};

export const mount = (root, page) => {
  // A plot is drawn when it comes into view.
  const seen = new IntersectionObserver(entries => {
    for (const {isIntersecting, target} of entries) if (isIntersecting && !target.drawn) {
      target.drawn = true;
      figure(target, target.figure, {alternative: target.getAttribute('aria-label')}).catch(page.fail);
    }
  }, {rootMargin: '300px'});
  const plot = ({title, figure: drawn}) => {
    const host = node('div', {class: 'plot', role: 'figure', 'aria-label': title, style: {height: `${drawn.layout.height}px`}});
    host.figure = drawn;
    seen.observe(host);
    return host;
  };
  // Plots of lines are small, and stand side by side; of the others one is shown.
  const chosen = {};
  const plots = (name, all) => {
    const lines = all.filter(({kind}) => kind === 'lines'), wide = all.filter(({kind}) => kind !== 'lines');
    const place = Math.max(0, wide.findIndex(({title}) => title === chosen[name])), parts = [], holder = node('div', {}, ...wide.length ? [plot(wide[place])] : []);
    if (wide.length > 1) {
      const select = node('select', {'aria-label': 'Plot'}, ...wide.map(({title}) => node('option', {}, title)));
      select.selectedIndex = place;
      select.addEventListener('change', () => {
        chosen[name] = wide[select.selectedIndex].title;
        holder.replaceChildren(plot(wide[select.selectedIndex]));
      });
      parts.push(select);
    } else if (wide.length) parts.push(node('h3', {}, wide[0].title));
    if (wide.length) parts.push(holder);
    if (lines.length) parts.push(node('div', {class: 'lines'}, ...lines.map(one => node('section', {}, node('h3', {}, one.title), plot(one)))));
    return parts;
  };
  const section = ({name, title, reason, lead, note: paragraphs, command, version, plots: drawn = [], tables = []}) => {
    const parts = [node('h2', {}, title)];
    if (reason) parts.push(node('p', {class: 'note'}, reason), ...command ? [node('pre', {}, command)] : []);
    else {
      parts.push(node('p', {}, ...prose(lead)), node('details', {}, node('summary', {class: 'note'}, 'How it was measured'),
        ...paragraphs.map(note), node('pre', {}, command), node('p', {class: 'note'}, `Version: ${version}. `,
          node('a', {href: page.link(`reports/${name}`), download: ''}, 'Save the report'))), ...plots(name, drawn));
      const bare = !drawn.length;    // without a plot the tables are what there is to see
      const folds = tables.map((one, place) => () => fold(`${name}/${place}`, one.title, bare, () => [table(one)]));
      if (tables.length === 1) parts.push(folds[0]());
      else if (tables.length) parts.push(fold(name, `${tables.length} tables`, bare, () => folds.map(make => make())));
    }
    return node('section', {class: 'report', id: `reports-${name}`}, ...parts);
  };
  // First three figures, then the list of the reports, each with its figure if it is none of those.
  const KEY_FIGURES = 3;
  const opener = (name, ...words) => button({class: 'link'}, () => reveal(document.getElementById(`reports-${name}`), 'start'), ...words);
  const keyFigure = ({name, title, headline}) => {
    const [before, number = '', ...after] = headline.split(/(\d[\d.,]*(?: %| ms)?)/);
    return node('li', {class: 'box'}, node('p', {}, before, node('b', {}, number), after.join('')), opener(name, title));
  };
  const overview = reports => {
    const keys = reports.filter(({headline}) => headline).slice(0, KEY_FIGURES);
    return [node('p', {class: 'introduction'}, 'What was measured of this run, each with the command that measures it again; the paper’s own Tables 1, 2, 8 and 9 need M-BEIR (training/README.md).'),
      node('ul', {class: 'key-figures'}, ...keys.map(keyFigure)), node('ul', {class: 'overview box'}, ...reports.map(report =>
        node('li', {}, opener(report.name, report.title), report.headline && !keys.includes(report) ? ` ${report.headline}` : '')))];
  };
  const panel = node('div', {id: 'reports-panel'});
  root.append(panel);
  let shown = '';
  return {
    async update() {
      const reports = await page.get('reports'), text = JSON.stringify(reports);
      if (text === shown) return;
      shown = text;
      replace(panel, [...overview(reports), ...reports.map(section)]);
    },
  };
};
