// What the map gets from the server, as arrays: what each point is, where it lies, its color, and
// which are chosen.
import {GREY} from './stage.js';

const COLORS = [
  '#0d9488', '#ea580c', '#2563eb', '#16a34a', '#b45309', '#0891b2', '#e11d48',
  '#a16207', '#db2777', '#9333ea', '#4f46e5', '#64748b', '#7c3aed', '#65a30d',
];
const KIND_COLORS = ['#1f86cc', '#d55e00', '#009e73'];
const SCALE = 30000; // as view.py

const numbers = (Kind, text) =>
  new Kind(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);

export const readMap = async page => {
  const map = await page.get('map', {});
  if (map.missing) return map;
  const lineage = map.regions.map((_, number) => {
    const found = [number];
    while (map.regions[found.at(-1)].parent !== null) found.push(map.regions[found.at(-1)].parent);
    return found;
  });
  const colors = lineage.map(found => COLORS[found.at(-1) % COLORS.length]);
  const [kinds, of] = [numbers(Uint8Array, map.kinds), numbers(Uint16Array, map.of)];
  const places = new Map();
  return {
    ...map,
    kinds,
    of,
    lineage,
    colors,
    places(keep) {
      if (!places.has(keep)) {
        const asked = page.get('map/places', {keep});
        const read = ({places}) => Float32Array.from(numbers(Int16Array, places), at => at / SCALE);
        places.set(keep, asked.then(read));
      }
      return places.get(keep);
    },
    // The color of each point, as a number in a palette, and what the colors mean.
    async coloring(by) {
      if (by === 'kind') return {by, of: kinds, palette: KIND_COLORS, legend: []};
      if (by === 'region') {
        const tops = Uint8Array.from(of, region => lineage[region].at(-1) % COLORS.length);
        return {by, of: tops, palette: COLORS, legend: []};
      }
      const {groups, others, of: group} = await page.get('map/colors', {by});
      const legend = groups.map((one, place) => ({...one, color: COLORS[place]}));
      if (others) legend.push({label: 'others', items: others, color: GREY});
      const palette = [...COLORS.slice(0, 12), GREY];
      return {by, of: numbers(Uint8Array, group), palette, legend};
    },
    // The chosen points: their numbers, a mask, and of each region the share that is chosen.
    async chosen(choice, keep) {
      const found = await page.get('map/chosen', {...choice, keep});
      const points = numbers(Uint32Array, found.points), mask = new Uint8Array(kinds.length);
      for (const point of points) mask[point] = 1;
      const [all, some] = [0, 1].map(() => new Uint32Array(map.regions.length));
      of.forEach((region, point) => {
        for (const one of lineage[region]) {
          all[one] += 1;
          some[one] += mask[point];
        }
      });
      const shares = Array.from(all, (count, region) => some[region] / Math.max(count, 1));
      return {...found, points, mask, shares};
    },
  };
};
