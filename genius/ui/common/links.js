// The address of the page holds the tab and its fields. Other parameters stay as they are.
window.genius = (() => {
  const PARAMETERS = ['tab', 'q', 'instruction', 'item', 'picture', 'code'];
  const address = Object.fromEntries(new URL(location).searchParams);    // as it was opened
  let tab = TAB_NAMES.includes(address.tab) ? address.tab : 'search';
  const fields = {[tab]: PARAMETERS.slice(1).map(name => [name, address[name]])};    // of each tab

  let tour = null;    // the step; while it lasts, it is the address

  const writeNow = () => {
    const url = new URL(location);
    [...PARAMETERS, 'tour'].forEach(name => url.searchParams.delete(name));
    if (tour) url.searchParams.set('tour', tour);
    else if (tab !== 'search') url.searchParams.set('tab', tab);
    for (const [name, value] of tour ? [] : fields[tab] ?? []) if (value) url.searchParams.set(name, value);
    history.replaceState(history.state, '', url);
  };
  let timer;
  const write = () => {    // once the results are shown, because Chromium takes some 30 ms for it
    clearTimeout(timer);
    timer = setTimeout(writeNow, 100);
  };
  return {
    address,
    setTour: step => { tour = step; write(); },
    // Before the page itself opens a tab: the way back leads to the one that is left, as it is.
    openTab: name => {
      if (tour || name === tab) return;
      clearTimeout(timer);
      writeNow();
      history.pushState(null, '', location);
    },
    tabOfAddress: () => new URL(location).searchParams.get('tab') ?? 'search',
    setTab: name => { tab = name; write(); },
    setFields: (ofTab, names, values) => {
      fields[ofTab] = names.map((name, index) => [name, values[index]]);
      if (ofTab === tab) write();
    },
  };
})();
