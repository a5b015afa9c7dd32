// The address of the page holds the step of the tour, or the tab, the last search and the pattern of Codes. Each of them is
// an entry of the browser's history, which keeps an uploaded picture, too. Other parameters stay as they are.
window.genius = (() => {
  const SETTINGS = ['beams', 'results', 'order', 'by', 'kind', 'weight', 'in'];    // those that are not the run's own
  const SEARCH = ['q', 'instruction', 'item', 'picture', 'example', 'reading', ...SETTINGS], PARAMETERS = ['tour', ...SEARCH, 'tab', 'code'];
  const FORM = ['#text textarea', '#instruction input'];
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  const shown = {tour: '', tab: 'search', search: {}, codes: null};
  const expected = {};    // parts whose next change belongs to an entry that there is already -> the values asked for
  const expect = (part, value) => (expected[part] ??= []).push(value);
  const MOST_SEARCHES = 20;
  let timer, isNew = false, opening = false;

  const read = () => {
    const {tour = '', tab, code = history.state?.codes ?? shown.codes, ...rest} = Object.fromEntries(new URL(location).searchParams);
    const search = history.state?.search ?? Object.fromEntries(SEARCH.filter(name => rest[name]).map(name => [name, rest[name]]));
    return tour ? {...shown, tour} : {tour, tab: TAB_NAMES.includes(tab) ? tab : 'search', search, codes: code};
  };
  const write = () => {
    const url = new URL(location), {tour, tab, search, codes} = shown;
    const fields = tour ? {tour} : {...search.upload ? {} : search, tab: tab === 'search' ? '' : tab, code: tab === 'codes' ? codes : ''};
    for (const name of PARAMETERS) {
      url.searchParams.delete(name);
      if (fields[name]) url.searchParams.set(name, fields[name]);
    }
    history[isNew ? 'pushState' : 'replaceState']({search, codes}, '', url);
    isNew = false;
  };
  const change = (part, value) => {
    const asked = expected[part] ?? [];
    if (asked.slice(0, -1).some(one => same(one, value)) && !same(asked.at(-1), value)) return;    // of a step that was left
    delete expected[part];
    const belongs = asked.length || shown[part] === null || (shown.tour ? part !== 'tour' : !['tour', 'tab', shown.tab].includes(part));
    if (same(shown[part], value)) return;
    if (isNew && !belongs) write();    // the entry before
    shown[part] = value;
    isNew ||= !belongs;
    clearTimeout(timer);
    timer = setTimeout(write, 100);    // once the results are shown, because Chromium takes some 30 ms for it
  };

  // The last searches stay in this browser, but for pictures that were uploaded.
  const place = () => `genius-history-${genius.run}`;
  const searches = () => JSON.parse(localStorage[place()] ?? '[]');
  const remember = ({upload, part, ...asked}) => {
    if (!(asked.q || asked.item || asked.picture || asked.example)) return;    // there is nothing to repeat
    const entry = {...asked, ...upload && {unkept: true}}, others = searches().filter(one => !same(one, entry));
    localStorage[place()] = JSON.stringify([entry, ...others].slice(0, MOST_SEARCHES));
  };

  // What was typed outlives a reload.
  const {href, typed} = JSON.parse(sessionStorage.left ?? '{}');
  let draft = href === location.href && typed;
  addEventListener('pagehide', () => { sessionStorage.left = JSON.stringify(
    {href: location.href, typed: FORM.map(field => document.querySelector(field)?.value ?? '')}); });
  addEventListener('popstate', () => { clearTimeout(timer); isNew = opening = false; });
  addEventListener('click', ({target}) => { opening ||= Boolean(target.closest('#tabs > .tab-wrapper')); }, true);

  return {
    searches,
    isHistory: key => key === place(),
    send: {},    // by the name of a signal (context.py): what sends it
    // The tab, and what the address names and the page does not show; no search is {}.
    restore: () => {
      const next = read(), message = {};
      for (const part of ['tour', 'search', 'codes']) {
        if (same(next[part], shown[part])) continue;
        message[part] = next[part];
        expect(part, next[part]);
      }
      const field = document.querySelector(FORM[0]);
      if (message.search) message.search = {...message.search, restored: true, ...draft && {typed: draft}};
      const words = draft ? draft[0] : message.search?.q;
      if (words && field) {    // at once, because the visitor may go on typing, or wait for an answer
        field.value = words;
        field.dispatchEvent(new Event('input', {bubbles: true}));
      }
      draft = null;
      Object.assign(shown, next);
      const send = part => part in message ? {message: message[part], number: Math.random(), restored: true} : null;    // as Signal does
      return [{__type__: 'update', selected: shown.tab}, send('search'), send('codes'), send('tour')];
    },
    // The tab to select for a signal: of an address, the one that it names; else its own, and what comes next belongs to it.
    openTab: (name, {restored} = {}) => {
      if (restored) return shown.tab;
      opening = name !== shown.tab;
      if (opening) expect(name, null);    // any value
      return name;
    },
    setTab: name => {    // Gradio tells of tabs that `restore` selected, too, and may do so after a second step back
      if (opening) change('tab', name);
      opening = false;
    },
    setTour: step => change('tour', String(step ?? '')),
    setShown: fields => {
      if (fields.search) remember(fields.search);
      if (fields.search) genius.quiet();    // the errors of an earlier search
      if (fields.search && sessionStorage.restarted) genius.tell('The server was restarted; your search is repeated.');
      delete sessionStorage.restarted;
      Object.entries(fields).forEach(([part, value]) => change(part, value));
    },
  };
})();
