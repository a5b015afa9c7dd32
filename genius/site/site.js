// Codes and Map of a run. Items are numbered in the order of their IDs: those of a code are a range.
"use strict";

const KINDS = ["Image", "Text", "Pair"];
const COLORS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8a6d00", "#7a5cc4", "#b2182b", "#4d9221"];
const OTHERS = "#9aa0ab";
const NO_REGION = 65535;
const CLOSER = 2.2; // zoom from which the regions of the next size have the large names
const PAGE = 24; // items that are shown at once
const CHILDREN = 120; // codes
const at = (id) => document.getElementById(id);
const shards = {}; // number: {promise, resolve}
let run, kinds, codes, places; // places: of the view that is shown
let regions = [], regionOf, chosen = null; // number of a region that is kept, or null
let prefix = [], first = 0, last = 0; // the chosen beginning of an ID, and its items: first to last - 1
let unseen; // those that are not shown yet
let colors = []; // of each item, a number in COLORS; -1: OTHERS
let view = { x: 0, y: 0, scale: 1 }; // the place in the middle of the canvas

/** An element with properties and children. Texts stay texts: nothing is read as markup. */
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function numbers(type, text) {
  return new type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

/** Called by data.js. */
function show(given) {
  run = given;
  kinds = numbers(Uint8Array, run.kinds);
  codes = numbers(Uint16Array, run.codes);
  places = run.map && numbers(Float32Array, run.map.places[0]);
  document.title = run.name;
  at("title").textContent = run.name;
  at("to-map").hidden = !places;
  if (places) showRegions();
  at("color").append(make("option", { value: -1 }, "kind"));
  for (let level = 0; level < run.levels; level++) at("color").append(make("option", { value: level }, `code ${level}`));
  if (places) at("color").value = -2;
  addEventListener("hashchange", go);
  addEventListener("resize", draw);
  at("color").addEventListener("change", paint);
  at("more").addEventListener("click", () => addItems());
  if (places) listen();
  go();
}

/** Contents, and how many codes are kept. */
function showRegions() {
  regionOf = numbers(Uint16Array, run.map.region);
  regions = run.map.regions.map(([tier, parent, name, items, portrait]) => ({ tier, parent, name, items, portrait }));
  regions.forEach((region, number) => {
    region.color = region.parent === null ? COLORS[number % COLORS.length] : regions[region.parent].color;
    if (region.tier === 0) contents(at("contents"), number);
  });
  for (const keep of run.map.views) {
    at("keep").append(make("option", { value: keep }, keep ? `${keep} code${keep > 1 ? "s" : ""}` : "everything"));
  }
  at("keep").addEventListener("change", () => {
    places = numbers(Float32Array, run.map.places[at("keep").selectedIndex]);
    locate();
    draw();
  });
  at("color").append(make("option", { value: -2 }, "region"));
  locate();
}

/** Where the name of each region belongs: the middle of its items. */
function locate() {
  const members = regions.map(() => []);
  regionOf.forEach((region, number) => {
    for (let one = region === NO_REGION ? null : region; one !== null; one = regions[one].parent) members[one].push(number);
  });
  const middle = (numbers, axis) => Float32Array.from(numbers, (number) => places[2 * number + axis]).sort()[numbers.length >> 1];
  regions.forEach((region, number) => (region.center = [middle(members[number], 0), middle(members[number], 1)]));
}

function contents(list, number) {
  const { name, items, tier } = regions[number];
  const entry = make("button", { type: "button", onclick: () => keepRegion(number) }, `${name || "mixed"} `, make("small", {}, items.toLocaleString("en")));
  const parts = tier ? [] : regions.flatMap((region, part) => (region.parent === number && region.name ? [part] : []));
  if (!parts.length) return list.append(make("li", {}, entry));
  const inner = make("ul");
  parts.forEach((part) => contents(inner, part));
  list.append(make("li", {}, make("details", {}, make("summary", {}, entry), inner)));
}

/** Keeps a region, or everything again, and goes there. */
function keepRegion(number) {
  chosen = chosen === number ? null : number;
  [view.x, view.y] = chosen === null ? [0, 0] : regions[number].center;
  view.scale = chosen === null ? 1 : [2.5, 5, 9][regions[number].tier];
  paint();
}

const isIn = (region, number) => region !== null && (region === number || isIn(regions[region].parent, number));

/** Called by items-N.js. */
function receive(number, records) {
  shards[number].resolve(records);
}

/** An item's id, text, picture and credit. */
async function record(number) {
  const shard = Math.floor(number / run.shard);
  if (!shards[shard]) {
    const promise = new Promise((resolve) => (shards[shard] = { resolve }));
    shards[shard].promise = promise;
    document.head.append(make("script", { src: `items-${shard}.js` }));
  }
  return (await shards[shard].promise)[number % run.shard];
}

const codeOf = (number, level) => codes[number * run.levels + level];
const nameOf = (codes) => run.names[codes.join(".")] || (codes.length === 1 && kindOf(codes)) || "";

/** The kind that all items of a first code have in common. */
function kindOf(codes) {
  const [from, to] = range(codes);
  return kinds.subarray(from, to).every((kind) => kind === kinds[from]) ? KINDS[kinds[from]] : "";
}

/** The items whose IDs begin with these codes. */
function range(codes) {
  let [from, to] = [0, kinds.length];
  codes.forEach((code, level) => {
    [from, to] = [bound(code, level, from, to), bound(code + 1, level, from, to)];
  });
  return [from, to];
}

/** The first item from `from` on whose code at a level is not smaller. */
function bound(code, level, from, to) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (codeOf(middle, level) < code) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The codes that follow the chosen ones, with their numbers of items, largest first. */
function children() {
  const found = [];
  for (let from = first; prefix.length < run.levels && from < last; ) {
    const code = codeOf(from, prefix.length);
    const to = bound(code + 1, prefix.length, from, last);
    found.push({ code, from, items: to - from });
    from = to;
  }
  return found.sort((a, b) => b.items - a.items);
}

/** Shows what the address names: #codes=0.17 or #map=0.17. */
function go() {
  const [, where, typed] = /^#(codes|map)=([\d.]*)$/.exec(location.hash) || [null, "codes", ""];
  const onMap = where === "map" && places !== null;
  prefix = typed.split(".").filter(Boolean).map(Number).slice(0, run.levels);
  [first, last] = range(prefix);
  at("codes").hidden = onMap;
  at("map").hidden = !onMap;
  for (const [id, current] of [["to-codes", !onMap], ["to-map", onMap]]) {
    at(id).href = `#${id.slice(3)}=${prefix.join(".")}`;
    current ? at(id).setAttribute("aria-current", "page") : at(id).removeAttribute("aria-current");
  }
  at("path").replaceChildren(make("a", { href: `#${where}=` }, "All items"));
  prefix.forEach((code, level) => {
    const codes = prefix.slice(0, level + 1);
    at("path").append(" › ", make("a", { href: `#${where}=${codes.join(".")}` }, `${code} ${nameOf(codes)}`));
  });
  at("count").textContent = `${(last - first).toLocaleString("en")} items`;
  if (onMap) return paint();
  at("items").replaceChildren();
  unseen = spread(first, last);
  at("children").replaceChildren(...children().slice(0, CHILDREN).map(codeCard));
  addItems();
}

function codeCard({ code, from, items }) {
  const codes = [...prefix, code];
  const image = make("img", { alt: "" });
  const typical = run.pictures[codes.join(".")] ?? from;
  record(typical).then(([, , picture]) => (picture ? (image.src = source(picture)) : image.remove()));
  const count = `${items.toLocaleString("en")} ${items === 1 ? "item" : "items"}`;
  return make("a", { href: `#codes=${codes.join(".")}` }, image, make("strong", {}, `${code} ${nameOf(codes)}`), count);
}

const source = (picture) => `data:image/webp;base64,${picture}`;

/** Each item once: a page spread over all of them, then those beside these. */
function* spread(first, last) {
  const step = Math.ceil((last - first) / PAGE);
  for (let offset = 0; offset < step; offset++) {
    for (let number = first + offset; number < last; number += step) yield number;
  }
}

function addItems() {
  for (let shown = 0; shown < PAGE; shown++) {
    const { value, done } = unseen.next();
    if (!done) at("items").append(itemCard(value));
  }
  at("more").hidden = at("items").children.length >= last - first;
}

function itemCard(number) {
  const card = make("button", { type: "button", onclick: () => open(number) });
  record(number).then(([id, text, picture]) => {
    if (picture) card.append(make("img", { alt: text || id, src: source(picture) }));
    if (text) card.append(make("span", { className: "text" }, text));
  });
  return card;
}

async function open(number) {
  const [id, text, picture, credit] = await record(number);
  const own = Array.from({ length: run.levels }, (_, level) => codeOf(number, level));
  const links = own.map((code, level) => {
    const address = `#codes=${own.slice(0, level + 1).join(".")}`;
    return make("a", { href: address, onclick: () => at("item").close() }, String(code));
  });
  at("shown").replaceChildren(
    ...(picture ? [make("img", { alt: text || id, src: source(picture) })] : []),
    make("p", {}, text),
    make("p", {}, `${KINDS[kinds[number]]} ${id}`),
    make("p", {}, "ID: ", ...links.flatMap((link, place) => (place ? [" · ", link] : [link]))),
    make("p", { className: "credit" }, credit),
  );
  at("item").showModal();
}

/** Chooses the colors of the items: the most frequent kinds or codes have one of their own. */
function paint() {
  const level = Number(at("color").value), counts = {};
  if (level === -2) {
    const colored = regions.map((region, number) => (chosen === null || isIn(number, chosen) ? COLORS.indexOf(region.color) : -1));
    colors = Int8Array.from(kinds, (_, number) => (number < first || number >= last ? -1 : (colored[regionOf[number]] ?? -1)));
    at("legend").replaceChildren();
    return draw();
  }
  const value = (number) => (level < 0 ? kinds[number] : codeOf(number, level));
  for (let number = first; number < last; number++) counts[value(number)] = (counts[value(number)] || 0) + 1;
  const largest = Object.keys(counts).sort((a, b) => counts[b] - counts[a]).slice(0, COLORS.length);
  const colorOf = Object.fromEntries(largest.map((key, place) => [key, place]));
  colors = Int8Array.from(kinds, (_, number) => (number < first || number >= last ? -1 : (colorOf[value(number)] ?? -1)));
  const label = (key) => (level < 0 ? KINDS[key] : level === prefix.length ? `${key} ${nameOf([...prefix, Number(key)])}` : key);
  at("legend").replaceChildren(
    ...largest.map((key, place) => make("span", {}, dot(COLORS[place]), label(key))),
    ...(colors.includes(-1) ? [make("span", {}, dot(OTHERS), "others")] : []),
  );
  draw();
}

function dot(color) {
  const mark = make("i", {});
  mark.style.background = color;
  return mark;
}

function scaleOf(canvas) {
  return [canvas.width, canvas.height].map((side) => (view.scale * side) / 2.1); // places lie between -1 and 1
}

function draw() {
  const canvas = at("canvas"), ratio = devicePixelRatio;
  if (at("map").hidden) return;
  [canvas.width, canvas.height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
  const context = canvas.getContext("2d"), [across, down] = scaleOf(canvas), size = ratio * Math.min(6, 2 + view.scale / 2);
  for (let color = -1; color < COLORS.length; color++) {
    context.fillStyle = color < 0 ? OTHERS : COLORS[color];
    context.globalAlpha = color < 0 ? 0.35 : 0.8;
    for (let number = 0; number < colors.length; number++) {
      if (colors[number] !== color) continue;
      const x = canvas.width / 2 + (places[2 * number] - view.x) * across;
      const y = canvas.height / 2 - (places[2 * number + 1] - view.y) * down;
      if (x > -size && y > -size && x < canvas.width + size && y < canvas.height + size) {
        context.fillRect(x - size / 2, y - size / 2, size, size); // a place that is not known is NaN
      }
    }
  }
  drawNames(canvas, context);
}

/** Names in two sizes, the larger first, where there is room. */
function drawNames(canvas, context) {
  const [across, down] = scaleOf(canvas), large = view.scale < CLOSER ? 0 : 1, taken = [], ratio = devicePixelRatio;
  context.globalAlpha = 1;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const { color: ink } = getComputedStyle(canvas), ground = getComputedStyle(document.body).backgroundColor;
  const wanted = regions.filter(({ tier, name }) => name && (tier === large || tier === large + 1));
  for (const { tier, name, center, color } of wanted.sort((a, b) => a.tier - b.tier || b.items - a.items)) {
    const [x, y] = [canvas.width / 2 + (center[0] - view.x) * across, canvas.height / 2 - (center[1] - view.y) * down];
    const size = ratio * (tier === large ? 19 : 13);
    context.font = `${tier === large ? 700 : 400} ${size}px system-ui, sans-serif`;
    const half = context.measureText(name).width / 2 + 4 * ratio;
    const box = [x - half, y - size * 0.7, x + half, y + size * 0.7];
    const isFree = taken.every((other) => box[0] > other[2] || other[0] > box[2] || box[1] > other[3] || other[1] > box[3]);
    if (!isFree || x < 0 || y < 0 || x > canvas.width || y > canvas.height) continue;
    taken.push(box);
    context.strokeStyle = ground;
    context.lineWidth = 4 * ratio;
    context.strokeText(name, x, y);
    context.fillStyle = tier === large ? color : ink;
    context.fillText(name, x, y);
  }
}

/** Opens the item nearest to a point of the canvas, in its pixels from the middle, if one is near. */
function pick(x, y) {
  const [across, down] = scaleOf(at("canvas")), place = [view.x + x / across, view.y - y / down];
  let nearest = -1, least = 24 * devicePixelRatio;
  for (let number = first; number < last; number++) {
    const distance = Math.hypot((places[2 * number] - place[0]) * across, (places[2 * number + 1] - place[1]) * down);
    if (distance < least) [nearest, least] = [number, distance];
  }
  if (nearest >= 0) open(nearest);
}

function zoom(factor) {
  view.scale = Math.min(200, Math.max(0.5, view.scale * factor));
  draw();
}

function move(x, y) {
  const [across, down] = scaleOf(at("canvas"));
  view.x -= x / across;
  view.y += y / down;
  draw();
}

function listen() {
  const canvas = at("canvas"), pointers = new Map();
  const distance = () => {
    const [a, b] = [...pointers.values()];
    return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  };
  let moved = 0;
  at("closer").addEventListener("click", () => zoom(1.5));
  at("farther").addEventListener("click", () => zoom(1 / 1.5));
  canvas.addEventListener("wheel", (event) => (event.preventDefault(), zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2)));
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    moved = pointers.size > 1 ? Infinity : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const apart = pointers.size === 2 && distance();
    pointers.set(event.pointerId, event);
    if (apart) return zoom(distance() / apart);
    const [x, y] = [event.clientX - before.clientX, event.clientY - before.clientY];
    moved += Math.hypot(x, y);
    move(x * devicePixelRatio, y * devicePixelRatio);
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerup", (event) => {
    pointers.delete(event.pointerId);
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
    if (moved < 5) pick(x * devicePixelRatio, y * devicePixelRatio);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = 80 * devicePixelRatio;
    const actions = {
      ArrowLeft: () => move(step, 0),
      ArrowRight: () => move(-step, 0),
      ArrowUp: () => move(0, step),
      ArrowDown: () => move(0, -step),
      "+": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      Enter: () => pick(0, 0),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}
