// The drawn points, and how wheel, fingers, mouse and keys move them. plotly draws (scattergl);
// while a gesture lasts its picture is moved and scaled, which costs nothing, and when it rests
// the points are drawn anew.
import {node} from '../page/nodes.js';

const EDGE = 1.06; // how far the view reaches when nothing is zoomed; places lie between −1 and 1
const NEAREST = 0.9,
  FARTHEST = 60; // zoom
const REST = 140; // milliseconds without a gesture before the points are drawn anew
const TRAVEL = 900; // milliseconds that points travel
const REACH = 12; // pixels round a pointer in which a point is found
const SYMBOLS = ['circle', 'square', 'diamond'];
export const GREY = '#94a3b8';

export const stage = (plotly, host, tell) => {
  const drawn = node('div', {class: 'map-drawn'}),
    over = node('div', {class: 'map-over'});
  const lasso = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  lasso.setAttribute('class', 'map-lasso');
  host.replaceChildren(drawn, over, lasso);
  const state = {
    camera: {x: 0, y: 0, k: 1},
    shown: {x: 0, y: 0, k: 1},
    mode: 'move',
    count: 0,
    faint: 0.22,
  };
  let timer,
    busy = Promise.resolve(),
    started = false;

  const size = () => [host.clientWidth, host.clientHeight];
  const place = (x, y, {x: cx, y: cy, k} = state.camera) => {
    const [width, height] = size();
    return [(width / 2) * (1 + ((x - cx) * k) / EDGE), (height / 2) * (1 - ((y - cy) * k) / EDGE)];
  };
  const unplace = (px, py) => {
    const [width, height] = size(),
      {x, y, k} = state.camera;
    return [x + (((2 * px) / width - 1) * EDGE) / k, y - (((2 * py) / height - 1) * EDGE) / k];
  };
  const ranges = () => {
    const {x, y, k} = state.camera,
      far = EDGE / k;
    return {'xaxis.range': [x - far, x + far], 'yaxis.range': [y - far, y + far]};
  };
  const pointSize = () =>
    Math.min(
      11,
      (state.count > 30000 ? 3 : 4.5) * (1 + Math.log2(Math.max(state.camera.k, 1)) / 4),
    );

  // Two traces a kind: what is not chosen lies below, grey.
  const traces = () => {
    const scale = state.palette.flatMap((color, at) => [
      [at / state.palette.length, color],
      [(at + 1) / state.palette.length, color],
    ]);
    const made = [];
    for (const chosen of [false, true])
      SYMBOLS.forEach((symbol, kind) => {
        const members = [];
        for (let point = 0; point < state.count; point++) {
          if (
            state.kinds[point] === kind &&
            !state.hidden.has(kind) &&
            (!state.mask || state.mask[point] === 1) === chosen
          )
            members.push(point);
        }
        made.push({
          type: 'scattergl',
          mode: 'markers',
          hoverinfo: 'skip',
          members,
          x: Float32Array.from(members, point => state.places[2 * point]),
          y: Float32Array.from(members, point => state.places[2 * point + 1]),
          marker: {
            symbol,
            size: pointSize() * (kind === 1 ? 0.85 : 1),
            line: {width: 0},
            ...(chosen
              ? {
                  opacity: 0.75,
                  color: Array.from(members, point => state.colors[point] + 0.5),
                  colorscale: scale,
                  cmin: 0,
                  cmax: state.palette.length,
                }
              : {opacity: state.faint, color: GREY}),
          },
        });
      });
    return made;
  };
  const layout = () => ({
    margin: {l: 0, r: 0, t: 0, b: 0},
    showlegend: false,
    hovermode: false,
    dragmode: false,
    paper_bgcolor: 'rgba(0,0,0,0)',
    plot_bgcolor: 'rgba(0,0,0,0)',
    width: size()[0],
    height: size()[1],
    xaxis: {visible: false, range: ranges()['xaxis.range']},
    yaxis: {visible: false, range: ranges()['yaxis.range']},
  });
  const settled = () => {
    state.shown = {...state.camera};
    drawn.style.transform = '';
    tell.moved();
  };
  const queue = work => (busy = busy.then(work).catch(error => console.error(error)));
  const redraw = () =>
    queue(async () => {
      if (!state.count || !size()[0]) return;
      await plotly.react(drawn, traces(), layout(), {
        staticPlot: true,
        responsive: false,
        plotGlPixelRatio: Math.min(devicePixelRatio, 2),
      });
      started = true;
      settled();
    });
  const refine = () =>
    queue(async () => {
      if (!started) return;
      const sizes = SYMBOLS.map((_, kind) => pointSize() * (kind === 1 ? 0.85 : 1));
      await plotly.update(drawn, {'marker.size': [...sizes, ...sizes]}, ranges());
      settled();
    });

  const move = camera => {
    const {x, y, k} = camera,
      free = Math.max(0, EDGE - EDGE / k) + 0.3;
    state.camera = {
      x: Math.max(-free, Math.min(free, x)),
      y: Math.max(-free, Math.min(free, y)),
      k: Math.max(NEAREST, Math.min(FARTHEST, k)),
    };
    const [width, height] = size(),
      ratio = state.camera.k / state.shown.k;
    const [left, top] = place(state.shown.x, state.shown.y);
    const [x0, y0] = [left - (width / 2) * ratio, top - (height / 2) * ratio];
    drawn.style.transform = `translate(${x0}px, ${y0}px) scale(${ratio})`;
    tell.moved();
    clearTimeout(timer);
    timer = setTimeout(refine, REST);
  };
  const zoom = (factor, px = size()[0] / 2, py = size()[1] / 2) => {
    const [x, y] = unplace(px, py),
      k = Math.max(NEAREST, Math.min(FARTHEST, state.camera.k * factor)),
      done = state.camera.k / k;
    move({x: x + (state.camera.x - x) * done, y: y + (state.camera.y - y) * done, k});
  };
  const glide = target => {
    const from = {...state.camera},
      start = performance.now();
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return move(target);
    const step = now => {
      const done = Math.min(1, (now - start) / 450),
        ease = done * (2 - done);
      move({
        x: from.x + (target.x - from.x) * ease,
        y: from.y + (target.y - from.y) * ease,
        k: from.k * (target.k / from.k) ** ease,
      });
      if (done < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  };
  const fit = points => {
    if (!points.length) return;
    const axis = at => Float32Array.from(points, point => state.places[2 * point + at]).sort();
    const span = values => [
      values[Math.floor(values.length * 0.1)],
      values[Math.ceil(values.length * 0.9) - 1] ?? values.at(-1),
    ];
    const [[left, right], [low, high]] = [span(axis(0)), span(axis(1))];
    const k = Math.max(1, Math.min(14, 1.5 / Math.max(right - left, high - low, 0.05)));
    glide({x: (left + right) / 2, y: (low + high) / 2, k});
  };
  const nearest = (px, py) => {
    let best = -1,
      least = REACH * REACH;
    for (let point = 0; point < state.count; point++) {
      if (state.hidden.has(state.kinds[point]) || (state.mask && state.mask[point] !== 1)) continue;
      const [x, y] = place(state.places[2 * point], state.places[2 * point + 1]),
        distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  };

  // Points travel to other places.
  const travel = async places => {
    const from = state.places,
      start = performance.now(),
      quick = matchMedia('(prefers-reduced-motion: reduce)').matches;
    for (let done = quick ? 1 : 0; ;) {
      done = quick ? 1 : Math.min(1, (performance.now() - start) / TRAVEL);
      const ease = done * done * (3 - 2 * done);
      state.places =
        done === 1 ? places : from.map((value, at) => value + (places[at] - value) * ease);
      tell.moved();
      await queue(async () => {
        const all = drawn.data ?? [];
        await plotly.restyle(drawn, {
          x: all.map(({members}) => Float32Array.from(members, point => state.places[2 * point])),
          y: all.map(({members}) =>
            Float32Array.from(members, point => state.places[2 * point + 1]),
          ),
        });
      });
      if (done === 1) return;
      await new Promise(requestAnimationFrame);
    }
  };

  const at = event => {
    const box = host.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const pointers = new Map();
  let path = [],
    moved = 0;
  host.addEventListener(
    'wheel',
    event => {
      event.preventDefault();
      zoom(
        Math.exp(
          -Math.max(-120, Math.min(120, event.deltaMode ? event.deltaY * 20 : event.deltaY)) *
            (event.ctrlKey ? 0.01 : 0.0022),
        ),
        ...at(event),
      );
    },
    {passive: false},
  );
  host.addEventListener('pointerdown', event => {
    if (event.button || event.target.closest('button, a')) return;
    pointers.set(event.pointerId, at(event));
    moved = pointers.size > 1 ? Infinity : 0;
    path = [at(event)];
    host.setPointerCapture(event.pointerId);
  });
  host.addEventListener('pointermove', event => {
    const before = pointers.get(event.pointerId),
      now = at(event);
    if (!before) return tell.hover(event.pointerType === 'mouse' ? nearest(...now) : -1, now);
    const [first, second] = [...pointers.values()],
      apart = second && Math.hypot(first[0] - second[0], first[1] - second[1]);
    pointers.set(event.pointerId, now);
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (apart) {
      const [one, two] = [...pointers.values()];
      zoom(
        Math.hypot(one[0] - two[0], one[1] - two[1]) / apart,
        (one[0] + two[0]) / 2,
        (one[1] + two[1]) / 2,
      );
    } else if (state.mode === 'select') {
      path.push(now);
      lasso.replaceChildren();
      const line = document.createElementNS('http://www.w3.org/2000/svg', 'polygon');
      line.setAttribute('points', path.map(corner => corner.map(Math.round).join(',')).join(' '));
      lasso.append(line);
    } else if (event.pointerType === 'mouse' || state.mode === 'move') {
      const [x0, y0] = unplace(...before),
        [x1, y1] = unplace(...now);
      move({...state.camera, x: state.camera.x + x0 - x1, y: state.camera.y + y0 - y1});
    }
  });
  const ended = event => {
    if (!pointers.delete(event.pointerId)) return;
    lasso.replaceChildren();
    if (event.type === 'pointercancel') return;
    if (moved < 5) {
      const point = nearest(...at(event));
      if (point >= 0) tell.point(point);
    } else if (state.mode === 'select' && path.length > 3 && moved < Infinity) {
      const step = Math.ceil(path.length / 60);
      tell.area(path.filter((_, place) => place % step === 0).map(corner => unplace(...corner)));
    }
  };
  host.addEventListener('pointerup', ended);
  host.addEventListener('pointercancel', ended);
  host.addEventListener('pointerleave', () => tell.hover(-1));
  host.addEventListener('keydown', event => {
    const {x, y, k} = state.camera,
      step = 0.25 / k;
    const act = {
      ArrowLeft: () => move({x: x - step, y, k}),
      ArrowRight: () => move({x: x + step, y, k}),
      ArrowUp: () => move({x, y: y + step, k}),
      ArrowDown: () => move({x, y: y - step, k}),
      '+': () => zoom(1.4),
      '=': () => zoom(1.4),
      '-': () => zoom(1 / 1.4),
      0: () => glide({x: 0, y: 0, k: 1}),
    }[event.key];
    if (!act || event.target !== host || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  new ResizeObserver(() => started && redraw()).observe(host);

  return {
    over,
    place,
    fit,
    zoom,
    redraw,
    travel,
    home: () => glide({x: 0, y: 0, k: 1}),
    get camera() {
      return state.camera;
    },
    get size() {
      return size();
    },
    get state() {
      return state;
    },
    set(changes) {
      Object.assign(state, changes);
    },
  };
};
