// The guided tour: a panel over the page, which the page walks through by itself.
import {button, chips, creditLine, node, replace, reveal} from '../page/nodes.js';

const OPENED = ['q', 'item', 'picture', 'example', 'tab', 'code', 'keep', 'play', 'kind', 'reading', 'instruction'];

export const mount = (root, page) => {
  let steps = null, shown = 0;
  const go = number => {
    const {opens} = steps[number - 1], cleared = Object.fromEntries(OPENED.map(name => [name, '']));
    page.address.set({...cleared, ...opens, tour: String(number)}, {kept: {}});
  };
  const leave = () => {
    page.address.set({tour: ''});
    document.querySelector('#header .guides button')?.focus();
  };
  // The tab of a step may still have to be laid out, and its content to come.
  const show = (made, id, tries = 80) => setTimeout(() => {
    const part = document.getElementById(id);
    if (!made.isConnected || !tries) return;
    if (part?.offsetHeight > 1 && !part.querySelector('.pending')) reveal(part, 'start');
    else show(made, id, tries - 1);
  }, 100);
  const example = item => node('li', {class: 'tour-item'}, ...item.picture ? [node('img', {src: item.picture, alt: item.text || item.label})] : [],
    node('p', {}, chips({codes: item.codes, shared: item.shared})), ...creditLine(item.provenance));
  const views = (list, given) => node('div', {class: 'choices', role: 'group', 'aria-label': 'Map'}, ...list.map(({label, keep}) =>
    button({class: 'choice', 'aria-pressed': String((given.keep ?? '') === keep)}, () => page.address.set({keep}, {replace: true}), label)));
  const draw = (number, given) => {
    const {step, title, text, picture, pair = [], views: maps = [], reveals} = steps[number - 1], of = steps.length, last = number === of;
    const heading = node('h2', {tabindex: '-1'}, title);
    const back = button({class: 'plain'}, () => go(number - 1), 'Back');
    back.disabled = number === 1;
    const made = node('section', {class: `tour at-${step}`, 'aria-label': 'Guided tour'},
      ...picture ? [node('img', {class: 'tour-asked', src: picture, alt: 'The picture of the query'})] : [],
      node('div', {class: 'tour-words'}, node('p', {class: 'label'}, `Step ${number} of ${of}`), heading, node('p', {'data-announced': ''}, text), ...maps.length ? [views(maps, given)] : []),
      ...pair.length ? [node('ul', {class: 'tour-pair'}, ...pair.map(example))] : [],
      node('div', {class: 'moves'}, button({class: 'plain'}, leave, 'Leave'), back,
        button({class: 'plain next'}, () => last ? leave() : go(number + 1), last ? 'Finish' : 'Next')));
    made.addEventListener('keydown', event => event.key === 'Escape' && leave());
    requestAnimationFrame(() => heading.focus({preventScroll: true}));
    show(made, reveals);
    return made;
  };
  return {
    async update() {
      try {
        if (page.address.get().tour) steps ??= (await page.get('tour')).steps;
      } catch (error) {
        leave();
        throw error;
      }
      const now = page.address.get();    // after two clicks on Back at once, it is another than at first
      const asked = /^\d{1,3}$/.test(now.tour ?? '') ? Number(now.tour) : 0;
      root.hidden = !asked;
      document.body.classList.toggle('touring', Boolean(asked));
      if (!asked) {
        shown = 0;
        replace(root, []);
        return;
      }
      const number = Math.min(Math.max(asked, 1), steps.length), {opens} = steps[number - 1];
      if (Object.entries(opens).some(([name, value]) => name !== 'keep' && (now[name] ?? '') !== value)) return page.address.set({...opens, tour: String(number)}, {replace: true, kept: {}});
      if (shown !== number || steps[number - 1].views) replace(root, [draw(number, now)]);
      shown = number;
    },
  };
};
