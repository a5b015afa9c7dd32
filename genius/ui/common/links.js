// The address says what is on show: the tab, and what was asked in it. Other parameters stay as they are.
window.genius = (() => {
  const OURS = ['tab', 'q', 'instruction', 'item', 'code'];
  const address = Object.fromEntries(new URL(location).searchParams);    // as it was opened
  let tab = address.tab ?? 'search';
  const asked = {[tab]: OURS.slice(1).map(name => [name, address[name]])};    // what was asked in each tab

  const write = () => {
    const url = new URL(location);
    OURS.forEach(name => url.searchParams.delete(name));
    if (tab !== 'search') url.searchParams.set('tab', tab);
    for (const [name, value] of asked[tab] ?? []) if (value) url.searchParams.set(name, value);
    history.replaceState(history.state, '', url);
  };
  return {
    address,
    shown: chosen => { tab = chosen; write(); },
    asked: (of, names, values) => {
      asked[of] = names.map((name, place) => [name, values[place]]);
      if (of === tab) write();
    },
  };
})();
