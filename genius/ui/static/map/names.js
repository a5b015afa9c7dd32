// Names of regions in two sizes, without collisions: closer, the next smaller regions have their
// names. The largest regions have a portrait.
import {button, node} from '../page/nodes.js';

const CLOSER = 2.2; // zoom from which the regions of the next size have the large names
const MOST = 80; // names on the screen
const APART = 0.35,
  TOGETHER = 0.6; // a region has a name where so many of its items lie so near to its middle
const TOOLS = [64, 190]; // pixels at the top right, where no name stands
const PORTRAIT = 40,
  GAP = 4; // pixels

export const names = (stage, regions, pictureOf, choose) => {
  const labels = regions.map((region, number) => {
    if (!region.name) return null;
    const made = button(
      {
        class: 'map-name',
        title: `${region.name}: ${region.items.toLocaleString('en')} items, ${region.checked}`,
      },
      () => choose(number),
      node('span', {}, region.name),
    );
    made.hidden = true;
    return made;
  });
  const sizes = new Map(); // width of a name by class
  let centers = [];

  const measured = (label, large) => {
    const key = `${large} ${label.textContent}`;
    if (!sizes.has(key)) sizes.set(key, [label.offsetWidth, label.offsetHeight]);
    return sizes.get(key);
  };
  const portrait = (label, region) => {
    if (!label.querySelector('img') && region.portrait) {
      label.prepend(
        node('img', {
          src: pictureOf(region.portrait),
          alt: '',
          width: PORTRAIT,
          height: PORTRAIT,
          draggable: 'false',
        }),
      );
    }
  };
  const meets = (one, other) =>
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

  return {
    // Where each region's name belongs: the middle of its items. lineage: region of each size that
    // a region lies in.
    locate(places, of, lineage) {
      const members = regions.map(() => []);
      of.forEach((region, point) => {
        for (const one of lineage[region]) members[one].push(point);
      });
      const middle = (points, at) => {
        const values = Float32Array.from(points, point => places[2 * point + at]).sort();
        return values[values.length >> 1] ?? 0;
      };
      centers = members.map(points => {
        const [x, y] = [middle(points, 0), middle(points, 1)];
        const near = points.filter(
          point => Math.hypot(places[2 * point] - x, places[2 * point + 1] - y) < APART,
        );
        return Object.assign([x, y], {together: near.length >= TOGETHER * points.length});
      });
    },
    center: number => centers[number],
    // colors: of the regions; isFaint: of a region's number, whether its name gives way to what is
    // chosen.
    place(colors, isFaint) {
      const large = stage.camera.k < CLOSER ? 0 : 1,
        [width, height] = stage.size,
        taken = [[width - TOOLS[0], 0, width, TOOLS[1]]];
      // Words that stand in the larger name.
      const said = number => regions[regions[number].parent]?.name.split(', ') ?? [];
      const isNews = number =>
        regions[number].name.split(', ').some(word => !said(number).includes(word));
      const wanted = regions
        .map((_, number) => number)
        .filter(
          number =>
            labels[number] &&
            centers[number]?.together &&
            (regions[number].tier === large ||
              (regions[number].tier === large + 1 && isNews(number))),
        );
      wanted.sort(
        (one, other) =>
          regions[one].tier - regions[other].tier || regions[other].items - regions[one].items,
      );
      let shown = 0;
      const visible = new Set();
      for (const number of wanted) {
        if (shown >= MOST) break;
        const [x, y] = stage.place(...centers[number]),
          label = labels[number];
        if (x < 0 || y < 0 || x > width || y > height) continue;
        const isLarge = regions[number].tier === large;
        if (!label.isConnected) stage.over.append(label);
        label.hidden = false;
        label.classList.toggle('large', isLarge);
        label.classList.toggle('faint', isFaint(number));
        if (isLarge) portrait(label, regions[number]);
        const [wide, tall] = measured(label, isLarge);
        const left = Math.max(2, Math.min(width - wide - 2, x - wide / 2));
        const found = [0, -0.6, 0.6, -1.2, 1.2]
          .map(step => Math.max(2, Math.min(height - tall - 2, y - tall / 2 + step * tall)))
          .map(top => [left - GAP, top - GAP / 2, left + wide + GAP, top + tall + GAP / 2])
          .find(box => !taken.some(other => meets(box, other)));
        if (!found) {
          label.hidden = true;
          continue;
        }
        taken.push(found);
        visible.add(number);
        shown += 1;
        const top = Math.round(found[1] + GAP / 2);
        label.style.transform = `translate(${Math.round(left)}px, ${top}px)`;
        label.style.setProperty('--tone', colors[number]);
      }
      labels.forEach((label, number) => {
        if (label?.isConnected && !visible.has(number)) label.hidden = true;
      });
      return visible;
    },
    onScreen: () =>
      regions.map((_, number) => {
        const [x, y] = stage.place(...centers[number]),
          [width, height] = stage.size;
        return x >= 0 && y >= 0 && x <= width && y <= height;
      }),
    shown: () =>
      labels.flatMap((label, number) =>
        label?.isConnected && !label.hidden
          ? [
              {
                number,
                large: label.classList.contains('large'),
                text: regions[number].name,
                center: centers[number],
              },
            ]
          : [],
      ),
  };
};
