// The address says what is on show: the tab, and what was asked in it. Other parameters stay as they are.
window.genius = (() => {
  const OURS = ['tab', 'q', 'instruction', 'item', 'code'];
  const address = new URL(location);
  const asked = {};    // tab -> what was asked in it
  let tab = address.searchParams.get('tab') ?? 'search';
  asked[tab] = OURS.slice(1).map(name => [name, address.searchParams.get(name)]);

  const write = () => {
    const url = new URL(location);
    OURS.forEach(name => url.searchParams.delete(name));
    if (tab !== 'search') url.searchParams.set('tab', tab);
    for (const [name, value] of asked[tab] ?? []) if (value) url.searchParams.set(name, value);
    history.replaceState(history.state, '', url);
  };
  return {
    shown: chosen => { tab = chosen; write(); },
    asked: (of, names, values) => {
      const unshared = values.length > names.length && values.at(-1);
      asked[of] = unshared ? [] : names.map((name, place) => [name, values[place]]);
      if (of === tab) write();
    },
  };
})();
