// Playing with codes: guess a picture from its codes, change one of them, change the first.
import {button, node, replace, written} from '../page/nodes.js';

const pictures = (tiles, open) =>
  node(
    'span',
    {class: 'play-pictures'},
    ...tiles.map(({id, picture, label, text}) =>
      button(
        {class: 'play-item', title: label, 'aria-label': label},
        () => open(id),
        picture ? node('img', {src: picture, alt: ''}) : node('q', {}, text),
      ),
    ),
  );
const codeChip = (code, attributes = {}) =>
  node('code', {class: 'play-code', ...attributes}, String(code));

export const guess = async (root, given, page, current, openItem) => {
  const id = given.guess || given.item; // a tour, and a search with an item, name it
  const another = async () => {
    const {answer} = await page.get('codes/guess', {seed: Math.floor(Math.random() * 1e6)});
    if (current()) page.address.set({guess: answer.id}, {replace: true});
  };
  if (!id) return another();
  const {answer, steps} = await page.get('codes/guess', {item: id});
  if (!current()) return;
  let told = 1,
    known = false;
  const step = ({title, code, key, items, label, tiles}, place) =>
    node(
      'li',
      {
        class: 'box',
        ...(place === told - 1 ? {'data-announced': `${title}: ${written(items)} possible`} : {}),
      },
      node('p', {class: 'label'}, title),
      node(
        'p',
        {class: 'possible'},
        codeChip(code, key ? {'data-prefix': key} : {}),
        ' ',
        node('b', {}, written(items)),
        ' possible',
      ),
      ...(label ? [node('p', {class: 'label'}, label)] : []),
      pictures(tiles, openItem),
    );
  const draw = () => {
    const last = told >= steps.length,
      codes = told - 1,
      left = steps[codes].items;
    const verdict = known
      ? [
          node(
            'div',
            {class: 'box answer', 'data-announced': ''},
            ...(answer.picture
              ? [node('img', {src: answer.picture, alt: answer.label})]
              : [node('q', {}, answer.text)]),
            node(
              'div',
              {},
              node('h3', {}, answer.label),
              node(
                'p',
                {},
                `You saw ${codes} of ${answer.codes.length} codes; ${written(left)} `
                  + `${left === 1 ? 'item was' : 'items were'} possible.`,
              ),
              node(
                'p',
                {class: 'choices'},
                button({class: 'link'}, () => openItem(answer.id), 'Show this item'),
                button(
                  {class: 'link'},
                  () =>
                    page.address.set({
                      play: 'change',
                      code: answer.codes.join('.'),
                      level: '1',
                      guess: '',
                    }),
                  'Change one of its codes',
                ),
                button(
                  {class: 'link'},
                  () => page.ask({item: answer.id}),
                  'Search for more like it',
                ),
              ),
            ),
          ),
        ]
      : [];
    replace(root, [
      node(
        'section',
        {class: 'play guess'},
        node('h2', {}, 'Guess the picture from its codes'),
        node(
          'p',
          {class: 'label'},
          'One code at a time. Stop as soon as you know: the fewer codes you need, the better.',
        ),
        node('ol', {class: 'steps'}, ...steps.slice(0, told).map(step)),
        ...verdict,
        node(
          'p',
          {class: 'choices'},
          ...(known
            ? []
            : [
                ...(last
                  ? []
                  : [
                      button(
                        {class: 'primary', id: 'play-next'},
                        () => {
                          told += 1;
                          draw();
                        },
                        'Show the next code',
                      ),
                    ]),
                button(
                  {class: last ? 'primary' : 'choice', id: 'play-know'},
                  () => {
                    known = true;
                    draw();
                  },
                  last ? 'Show the picture' : 'I know it',
                ),
              ]),
          button(
            {class: known ? 'primary' : 'choice', id: 'play-another'},
            () => another().catch(page.fail),
            'Another picture',
          ),
        ),
      ),
    ]);
  };
  draw();
};

const rows = (found, level, page, openItem, open) =>
  node(
    'ol',
    {class: 'changes'},
    ...found.map(({key, code, items, label, checked, mixed, kept, tiles}, place) =>
      node(
        'li',
        {},
        node(
          'div',
          {},
          button(
            {
              class: 'plain',
              'data-prefix': key,
              'aria-label': `Open code ${key.replaceAll('.', ' · ')}`,
            },
            () => open(key),
            codeChip(code, place ? {} : {class: 'play-code own'}),
          ),
          ' ',
          node('b', {class: mixed ? 'mixed' : '', title: checked}, label),
          node(
            'p',
            {class: 'label'},
            `${written(items)} ${items === 1 ? 'item' : 'items'} with the first ${kept} codes`,
          ),
        ),
        pictures(tiles, openItem),
      ),
    ),
  );

export const change = async (root, given, page, current, openItem, open) => {
  let {code} = given;
  if (!code || code.includes('*') || !code.includes('.')) {
    const {answer} = await page.get('codes/guess', {seed: Math.floor(Math.random() * 1e6)});
    if (current()) page.address.set({code: answer.codes.join('.'), level: '1'}, {replace: true});
    return;
  }
  const codes = code.split('.'),
    level = Math.max(1, Math.min(codes.length - 1, Number(given.level || 1)));
  const [one, first] = await Promise.all([
    page.get('codes/change', {code, level}),
    page.get('codes/change', {code: codes.slice(0, 2).join('.'), level: 0}),
  ]);
  if (!current()) return;
  const chip = (value, place) =>
    place
      ? button(
          {
            class: `play-code${place === level ? ' own' : ''}`,
            'aria-pressed': String(place === level),
            'aria-label': `Change code ${place + 1}, ${value}`,
          },
          () => page.address.set({level: String(place)}),
          value,
        )
      : codeChip(value);
  replace(root, [
    node(
      'div',
      {class: 'play sides'},
      node(
        'section',
        {class: 'box'},
        node('h2', {}, 'Change one code'),
        node(
          'p',
          {class: 'label', 'data-announced': `Code ${level + 1} changed`},
          'The ID stays the same except here: ',
          node('span', {class: 'play-chips'}, ...codes.map(chip)),
        ),
        rows(one.rows, level, page, openItem, open),
      ),
      node(
        'section',
        {class: 'box'},
        node('h2', {}, 'Change the first code'),
        node('p', {class: 'label'}, 'The first code is the kind. The rest, the meaning, stays.'),
        rows(first.rows, 0, page, openItem, open),
      ),
    ),
    node(
      'p',
      {class: 'choices'},
      button(
        {class: 'choice', id: 'play-another'},
        () => page.address.set({code: '', level: ''}, {replace: true}),
        'Another item',
      ),
      button(
        {class: 'choice'},
        () => page.address.set({play: 'guess', guess: ''}),
        'Guess the picture',
      ),
    ),
  ]);
};
