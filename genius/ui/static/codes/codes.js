// Codes: find them by what they mean, walk through them, and play with them. The address says what
// is open.
import {button, node, replace} from '../page/nodes.js';
import {openCard} from '../page/items.js';
import {foundCodes} from './found.js';
import {group, health, items, meaning, nextCodes, summary} from './parts.js';
import {change, guess} from './play.js';

const PLAYS = [['', 'Look through'], ['guess', 'Guess the picture'], ['change', 'Change one code']];
const PARTS = ['ask', 'found', 'plays', 'summary', 'main', 'card', 'near', 'health'];

export const mount = (root, page) => {
  const at = Object.fromEntries(PARTS.map(name => [name, node('div', {id: `codes-${name}`})]));
  root.replaceChildren(node('div', {class: 'codes-panel'}, ...Object.values(at)));
  let shown = null, asked = '', version = 0;

  const open = code =>
    page.address.set({code, play: '', guess: '', level: '', only: '', page: ''});
  const close = button({class: 'link'}, () => replace(at.card, []), 'Close');
  const openItem = id => openCard(at.card, id, page, [close]);

  // Which codes mean …
  const form = (id, words, field, submit, ...more) => {
    const made = node('form', {id}, node('label', {class: 'label'}, words), field, ...more);
    made.addEventListener('submit', event => {
      event.preventDefault();
      submit(field.value.trim());
    });
    return made;
  };
  const drawAsk = given => {
    const pattern = node('input', {
      type: 'text', placeholder: '0 · 17 · * · 5', maxlength: '200',
      'aria-label': 'Code by number; * stands for any', value: (given.code ?? '').replaceAll('.', ' · '),
    });
    const byNumber = form('codes-pattern', 'Or by number', pattern,
      typed => open(typed.replace(/[\s·.-]+/g, '.')));
    if (!page.run.has_encoder) return replace(at.ask, [byNumber]);
    const name = 'Which codes mean …';
    const words = node('input', {
      type: 'search', placeholder: 'dog, or a man riding a wave', maxlength: '1000',
      'aria-label': name, value: given.means ?? '',
    });
    const file = node('input', {type: 'file', accept: 'image/*', hidden: ''});
    file.addEventListener('change', () =>
      file.files[0] && find({text: words.value.trim(), picture: file.files[0]}));
    const byWords = form('codes-words', name, words, means => page.address.set({means, play: ''}),
      button({class: 'primary', id: 'codes-go'}, () => byWords.requestSubmit(), 'Find'),
      button({class: 'choice', id: 'codes-picture'}, () => file.click(), 'By a picture'), file);
    replace(at.ask, [byWords, byNumber]);
  };
  const find = async query => {
    try {
      replace(at.found, [foundCodes(await page.call('find_codes', query), open)]);
    } catch (error) {
      page.fail(error);
    }
  };

  const drawPlays = ({play = '', level = ''}) => {
    const way = ([name, label]) => button(
      {class: 'choice', 'aria-pressed': String(play === name)},
      () => page.address.set({play: name, level: name === 'change' ? level : '', guess: ''}),
      label);
    const random = async () => {
      try {
        open((await page.get('codes/random', {})).code);
      } catch (error) {
        page.fail(error);
      }
    };
    replace(at.plays, [
      node('div', {class: 'choices', role: 'group', 'aria-label': 'Ways to look at codes'},
        ...PLAYS.map(way), button({class: 'link', id: 'codes-random'}, random, 'A random code')),
    ]);
  };

  const turn = changes => page.address.set(changes, {replace: true});
  const browse = async ({code = '', only, page: number}, mine) => {
    const asked = {code, ...only ? {kind: only} : {}, ...number ? {page: number} : {}};
    const data = await page.get('codes', asked);
    if (mine !== version) return;
    const hasFocus = at.summary.contains(document.activeElement);
    replace(at.summary, [summary(data, page, open, shown !== data.key)]);
    if (hasFocus) at.summary.firstChild.focus({preventScroll: true});
    replace(at.main, [
      node('div', {class: 'codes-sides'},
        ...[data.next, data.second].filter(Boolean).map(next => nextCodes(next, page, open)),
        ...data.meaning ? [meaning(data.meaning)] : []),
      node('div', {class: 'codes-sides'},
        ...(data.nearness?.groups ?? []).map(one => group(one, openItem)),
        items(data.page, openItem, turn)),
    ]);
    if (!at.health.children.length) at.health.append(health(page));
    if (shown === data.key) return;
    shown = data.key;
    for (const part of [at.card, at.near]) replace(part, []);
    if (!data.key || data.empty) return;
    const near = await page.get('codes/near', {code: data.key});
    if (mine === version && near) replace(at.near, [foundCodes(near, open)]);
  };

  const update = async given => {
    const mine = version += 1, {means = '', play = ''} = given;
    drawAsk(given);
    drawPlays(given);
    if (means !== asked) {
      asked = means;
      if (means) find({text: means});
      else replace(at.found, []);
    }
    root.firstChild.dataset.play = play;
    if (!play) return browse(given, mine);
    for (const part of [at.card, at.near, at.summary]) replace(part, []);
    shown = null;
    const draw = play === 'guess' ? guess : change;
    return draw(at.main, given, page, () => mine === version, openItem, open);
  };
  const recover = (given, error) => {
    page.fail(error);
    if (given.play) page.address.set({play: '', guess: '', code: ''}, {replace: true});
    else if (given.code) browse({}, version).catch(page.fail);
  };
  return {
    update: given => update(given).catch(error => recover(given, error)),
    changed() {
      shown = null;
      if (root.checkVisibility()) update(page.address.get()).catch(page.fail);
    },
  };
};
