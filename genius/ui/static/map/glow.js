// The last search on the map: its results glow, and a star lies among the items most like the
// query.
import {node} from '../page/nodes.js';

const RINGS = 20; // results that glow
const NEAR = 16; // pixels between two results that have a label each

export const glow = (stage, answer) => {
  const rings = answer.points.slice(0, RINGS).flatMap((point, place) => {
    const title = `Result ${place + 1}`, number = String(place + 1);
    return point < 0 ? [] : [{point, made: node('i', {class: 'map-ring', title}, number)}];
  });
  const star = node('i', {class: 'map-star', title: 'Your search'}, '★');
  const put = (made, [x, y]) => {
    made.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
  };
  stage.over.append(...rings.map(({made}) => made), star);
  return {
    items: answer.items,
    place() {
      const {places} = stage.state;
      const mean = axis => answer.near.reduce((sum, point, place) =>
        sum + answer.weights[place] * places[2 * point + axis], 0);
      const labels = []; // results that lie in one place share one
      for (const {point, made} of rings) {
        const [x, y] = stage.place(places[2 * point], places[2 * point + 1]);
        const there = labels.find(label => Math.hypot(label.x - x, label.y - y) < NEAR);
        made.hidden = Boolean(there);
        if (there) there.others += 1;
        else labels.push({made, x, y, others: 0});
      }
      for (const {made, x, y, others} of labels) {
        put(made, [x, y]);
        made.dataset.others = others ? `+${others}` : '';
      }
      put(star, stage.place(mean(0), mean(1)));
    },
    end() {
      for (const made of [star, ...rings.map(({made}) => made)]) made.remove();
    },
  };
};
