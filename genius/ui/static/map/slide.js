// The map as a picture for a slide: SVG, or PNG of 3840 × 2160 pixels.
const WIDTH = 1920, HEIGHT = 1080, MARGIN = 60, EDGE = 1.06; // as stage.js
const RADIUS = 3.2, SIDE = 5.4, HALF = 3.8; // of a circle, a square, a diamond
const LARGE = 30, SMALL = 19; // sizes of names
const half = way => `a${RADIUS} ${RADIUS} 0 1 0 ${way * 2 * RADIUS} 0`; // of a circle
const SHAPES = [
  `m${-RADIUS} 0${half(1)}${half(-1)}z`,
  `m${-SIDE / 2} ${-SIDE / 2}h${SIDE}v${SIDE}h${-SIDE}z`,
  `m0 ${-HALF}l${HALF} ${HALF}l${-HALF} ${HALF}l${-HALF} ${-HALF}z`,
];

const mark = (tag, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const meets = (one, other) =>
  one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

// points: as the stage has them, with its camera; names: as shown; tones: colors of the regions.
export const slide = ({points, names, tones, title, ink, paper, grey}) => {
  const {places, kinds, colors, mask, hidden, palette, camera} = points;
  const along = (value, center, size) => (size / 2 - MARGIN) * (value - center) * camera.k / EDGE;
  const at = (x, y) => [
    WIDTH / 2 + along(x, camera.x, WIDTH), HEIGHT / 2 - along(y, camera.y, HEIGHT),
  ];
  const paths = new Map([['', []]]); // by color; what is not chosen lies below
  kinds.forEach((kind, point) => {
    const [x, y] = at(places[2 * point], places[2 * point + 1]);
    if (hidden.has(kind) || x < 0 || y < 0 || x > WIDTH || y > HEIGHT) return;
    const color = !mask || mask[point] === 1 ? palette[colors[point]] : '';
    if (!paths.has(color)) paths.set(color, []);
    paths.get(color).push(`M${x.toFixed(1)} ${y.toFixed(1)}${SHAPES[kind]}`);
  });
  const path = ([color, shapes]) => mark('path',
    {d: shapes.join(''), fill: color || grey, 'fill-opacity': color ? 0.75 : 0.25});
  const taken = [];
  const label = ({number, large, text, center}) => {
    const [x, y] = at(...center), size = large ? LARGE : SMALL, half = text.length * size * 0.29;
    const box = [x - half, y - size, x + half, y + size * 0.3];
    if (taken.some(other => meets(box, other))) return [];
    taken.push(box);
    return [mark('text', {
      x: x.toFixed(0), y: y.toFixed(0), 'font-size': size, 'font-weight': large ? 700 : 400,
      fill: large ? tones[number] : ink,
    }, text)];
  };
  const largest = [...names].sort((one, other) => other.large - one.large);
  const drawn = mark('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT},
    mark('rect', {width: WIDTH, height: HEIGHT, fill: paper}),
    ...[...paths].map(path),
    mark('g', {
      'text-anchor': 'middle', 'font-family': 'system-ui, sans-serif', stroke: paper,
      'stroke-width': 5, 'stroke-linejoin': 'round', 'paint-order': 'stroke',
    }, ...largest.flatMap(label)),
    mark('text', {
      x: MARGIN, y: HEIGHT - 28, 'font-family': 'system-ui, sans-serif', 'font-size': 18, fill: ink,
    }, title));
  return new XMLSerializer().serializeToString(drawn);
};

const save = (blob, name) => {
  const link = Object.assign(document.createElement('a'), {
    href: URL.createObjectURL(blob), download: name,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

export const savePicture = async (svg, kind) => {
  const blob = new Blob([svg], {type: 'image/svg+xml'});
  if (kind === 'svg') return save(blob, 'map.svg');
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), {width: 3840, height: 2160});
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  save(await new Promise(resolve => canvas.toBlob(resolve, 'image/png')), 'map.png');
};
