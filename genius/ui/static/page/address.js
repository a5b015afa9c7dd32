// The address of the page is its state: the tab, the search, what each panel shows. An uploaded picture and the part of it
// that is searched stand in the browser's own entry of the history, for no address can name them.

const read = () => Object.fromEntries(new URL(location).searchParams);

export const address = {
  listeners: new Set(),
  get: () => ({...read(), ...history.state?.kept}),
  // changes: parameters, '' removes one. replace: no new entry of the history. kept: what only this browser knows.
  set(changes, {replace = false, kept} = {}) {
    const url = new URL(location);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '' || value === null || value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    const state = {kept: kept === undefined ? history.state?.kept : kept};
    const same = url.href === location.href && JSON.stringify(state.kept ?? {}) === JSON.stringify(history.state?.kept ?? {});
    history[replace || same ? 'replaceState' : 'pushState'](state, '', url);
    address.tell();
  },
  tell: () => address.listeners.forEach(listener => listener(address.get())),
};
addEventListener('popstate', address.tell);
