// Boxes are drawn on the plan, pulled in three views, named, and sent to the server after every change.

import { View, along, axesOf, dot, edgesOf, hit, minus, strokeBox, write } from "/static/views.js";

const at = id => document.getElementById(id);
const GRAB = 8;  // pixels
const LEAST = 0.02;  // metres, of a side
const PROPOSED = "proposed, not taken";
const NAMES = 8;  // that are suggested at a time
const STEPS = 200;  // that can be undone
const AGAIN_MS = 2000;
const COLORS = { plain: "#f4f4f0", chosen: "#ffb454", unnamed: "#ff7a7a", proposed: "#7fd4ff", floor: "#8ce99a" };

let scene, cloud, key;
let boxes = [], chosen = null, complete = new Set(), all = false;
let outline = [];  // corners of the floor, [x, y]
let past = [], future = [];
let proposals = "";  // those that were taken into boxes
let next = 1;

// ---- what is stored ----

const normal = label => label.toLowerCase().replace(/[-_/]/g, " ").trim().replace(/ +/g, " ");
const box = () => boxes.find(one => one.id === chosen);
const bare = ({ label, center, size, turn_deg, axes }) => ({ label, center, size, turn_deg, axes });
const numbered = list => list.map(one => ({ ...one, id: next++ }));
const snapshot = () => JSON.stringify({ boxes, complete: [...complete], all, outline });
const round = (value, digits) => Number(value.toFixed(digits));

function restore(text) {
  const told = JSON.parse(text);
  boxes = told.boxes;
  complete = new Set(told.complete);
  all = told.all;
  outline = told.outline || [];
  if (!box()) chosen = null;
}

// Takes note of what was before a change; call it with the state from before, after the change.
function changed(before) {
  if (before !== undefined && before !== snapshot()) {
    past.push(before);
    if (past.length > STEPS) past.shift();
    future = [];
  }
  for (const one of boxes) if (all && !one.proposed) complete.add(normal(one.label));
  keep();
  show();
  save();
}

function step(from, to) {
  if (!from.length) return;
  to.push(snapshot());
  restore(from.pop());
  changed();
}

// The browser keeps what the server may not have: boxes without a name, and all of them while it does not answer.
function keep(unsent = true) {
  try {
    localStorage.setItem(key, JSON.stringify({ digest: scene.digest, unsent, proposals, state: snapshot() }));
  } catch { /* no room or not allowed: the server has all but boxes without a name */ }
}

let sending = false, more = false, conflict = false;

async function save() {
  if (!conflict) status("Saving");
  if (sending || conflict) { more = true; return; }
  sending = true;
  do {
    more = false;
    const named = boxes.filter(one => one.label && !one.proposed);
    const labels = [...new Set(named.map(one => normal(one.label)))];
    const listed = labels.filter(label => complete.has(label)).sort();
    const told = all && listed.length === labels.length ? true : listed.length ? listed : false;
    let answer;
    try {
      answer = await post("/objects", { digest: scene.digest, objects: named.map(bare), complete: told, outline: outline.length > 2 ? outline : [] });
    } catch {
      status("Not saved");
      problem("The server does not answer. This page keeps your boxes, and sends them when it is back.");
      await new Promise(done => setTimeout(done, AGAIN_MS));
      more = true;
      continue;
    }
    if (answer.ok) {
      scene.digest = (await answer.json()).digest;
      problem("");
      keep(more);
      if (more) continue; // what changed meanwhile is not saved yet
      const drafts = boxes.filter(one => !one.label).length;
      const boxed = named.length, ticked = listed.length, when = new Date().toLocaleTimeString();
      status(`Saved ${when}` + (drafts ? `, but ${drafts} without a name` : boxed && !ticked && !scene.fixes ? ", but no name is ticked" : ""));
    } else {
      status("Not saved");
      problem(await answer.text(), answer.status === 409);
      if (answer.status === 503) {
        await new Promise(done => setTimeout(done, AGAIN_MS));
        more = true;
      }
    }
  } while (more && !conflict);
  sending = false;
}

const post = (path, body) =>
  fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

function status(text) { at("status").textContent = text; }

function problem(text, choose = false) {
  conflict = choose;
  at("problem-text").textContent = text;
  at("problem").hidden = !text;
  at("theirs").hidden = at("mine").hidden = !choose;
}

async function fresh() {
  const answer = await fetch("/scene");
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

at("theirs").onclick = () => resolve(true);
at("mine").onclick = () => resolve(false);

async function resolve(theirs) {
  try {
    scene = await fresh();
  } catch (error) {
    problem(error.message, true);
    return;
  }
  const before = snapshot();
  if (theirs) take(scene);
  problem("");
  changed(before);
}

function take(told) {
  boxes = [...numbered(told.objects), ...boxes.filter(one => !one.label || one.proposed)];
  all = told.complete === true;
  outline = told.outline;
  complete = new Set(all ? told.objects.map(one => normal(one.label)) : (told.complete || []).map(normal));
  chosen = null;
}

// ---- views ----

const plan = new View(at("plan")), front = new View(at("front")), side = new View(at("side"));
let ground, room, inPlan = true, drag = null, drawn = null;

function wholeRoom() {
  const turn = scene.turn_deg * Math.PI / 180, c = Math.cos(turn), s = Math.sin(turn);
  const right = [c, s, 0], up = [-s, c, 0];
  const middle = [0, 1, 2].map(i => (scene.low[i] + scene.high[i]) / 2);
  const reach = [scene.high[0] - scene.low[0], scene.high[1] - scene.low[1]];
  const wide = Math.abs(c) * reach[0] + Math.abs(s) * reach[1], deep = Math.abs(s) * reach[0] + Math.abs(c) * reach[1];
  plan.fits();
  const scale = 0.94 * Math.min(plan.canvas.width / wide, plan.canvas.height / deep);
  ground = { right, up, toward: [0, 0, 1], center: middle, scale };
  room = { turn: turn - 0.6, tilt: 0.9, center: middle, distance: 1.4 * Math.hypot(wide, deep), scale: 1 };
}

function aim() {
  const low = Number(at("low").value), high = Number(at("high").value);
  if (inPlan) {
    plan.look({ ...ground, low: low - ground.center[2], high: high - ground.center[2] });
  } else {
    const { turn, tilt, center, distance } = room, c = Math.cos(turn), s = Math.sin(turn);
    const toward = [s * Math.cos(tilt), -c * Math.cos(tilt), Math.sin(tilt)];
    const up = [-s * Math.sin(tilt), c * Math.sin(tilt), Math.cos(tilt)];
    const scale = plan.canvas.height / distance;
    plan.look({ right: [c, s, 0], up, toward, center, scale, distance, low: -Infinity, high: Infinity });
  }
}

// A side of the chosen box: axis i to the right; only what is in the box, across, is shown.
function aimSide(view, i) {
  const one = box();
  if (!one || one.axes || !view.fits()) { view.camera = null; return; }
  const axes = axesOf(one), across = axes[1 - i], sign = i ? 1 : -1;
  const tall = one.size[2] + 0.5, wide = one.size[i] + 0.5;
  const half = one.size[1 - i] / 2 + 0.02;
  view.look({
    right: axes[i], up: [0, 0, 1], toward: across.map(t => t * sign), center: one.center,
    scale: Math.min(view.canvas.width / wide, view.canvas.height / tall), low: -half, high: half,
  });
}

let queued = false;
function paint() {
  if (queued || !cloud) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    plan.draw(cloud, context => {
      for (const one of boxes) {
        strokeBox(context, one, p => plan.project(p), styleOf(one));
        if (inPlan || one.id === chosen) write(context, one.label || "no name", ...plan.screen(one.center), styleOf(one).color);
      }
      if (drawn) strokeBox(context, drawn, p => plan.project(p), { width: 2, color: COLORS.chosen });
      if (inPlan) drawFloor(context);
      if (inPlan && !inFloor) handles(context, plan, 0, 1);
    });
    for (const [view, i] of [[front, 0], [side, 1]]) {
      if (!view.camera && view.fits()) {
        view.context.clearRect(0, 0, view.canvas.width, view.canvas.height);
        continue;
      }
      view.draw(cloud, context => {
        strokeBox(context, box(), p => view.project(p), styleOf(box()));
        handles(context, view, i, 2);
      });
    }
  });
}

function styleOf(one) {
  const color = one.id === chosen ? COLORS.chosen : one.proposed ? COLORS.proposed : one.label ? COLORS.plain : COLORS.unnamed;
  return { width: one.id === chosen ? 2 : 1, color, dash: one.label && !one.proposed ? [] : [5, 4] };
}

// ---- the outline of the floor ----

let inFloor = false;
const onFloor = ([x, y]) => plan.screen([x, y, scene.floor]);

function drawFloor(context) {
  if (!outline.length) return;
  context.beginPath();
  for (const corner of outline) context.lineTo(...onFloor(corner));
  context.closePath();
  context.lineWidth = inFloor ? 2 : 1;
  context.strokeStyle = COLORS.floor;
  context.stroke();
  context.fillStyle = COLORS.floor;
  if (inFloor) for (const corner of outline) { const [x, y] = onFloor(corner); context.fillRect(x - 4, y - 4, 8, 8); }
}

const cornerUnder = (x, y) => outline.findIndex(corner => { const [u, v] = onFloor(corner); return Math.hypot(u - x, v - y) <= GRAB + 2; });

// Where a new corner belongs: into the side that it makes least longer.
function sideFor(p) {
  const longer = outline.map((a, n) => {
    const b = outline[(n + 1) % outline.length];
    return Math.hypot(a[0] - p[0], a[1] - p[1]) + Math.hypot(b[0] - p[0], b[1] - p[1]) - Math.hypot(a[0] - b[0], a[1] - b[1]);
  });
  return outline.length < 3 ? outline.length : longer.indexOf(Math.min(...longer)) + 1;
}

function areaOf() {
  let twice = 0;
  outline.forEach(([x, y], n) => { const [u, v] = outline[(n + 1) % outline.length]; twice += x * v - u * y; });
  return Math.abs(twice) / 2;
}

// ---- handles: the four sides and corners of the chosen box in a view that shows its axes i and j ----

function grips(view, i, j) {
  const one = box(), found = [];
  if (!one || one.axes) return found;
  const axes = axesOf(one);
  for (const a of [-1, 0, 1]) for (const b of [-1, 0, 1]) {
    if (!a && !b) continue;
    const p = along(along(one.center, axes[i], a * one.size[i] / 2), axes[j], b * one.size[j] / 2);
    found.push({ pull: [[i, a], [j, b]], at: view.screen(p) });
  }
  if (j === 1) {
    const [x, y] = view.screen(along(one.center, axes[0], one.size[0] / 2)), [u, v] = view.screen(along(one.center, axes[0], one.size[0] / 2 + 1));
    const length = Math.hypot(u - x, v - y);
    found.push({ turn: true, at: [x + 26 * (u - x) / length, y + 26 * (v - y) / length] });
  }
  return found;
}

function handles(context, view, i, j) {
  for (const grip of grips(view, i, j)) {
    context.beginPath();
    if (grip.turn) context.arc(...grip.at, 6, 0, 7); else context.rect(grip.at[0] - 4, grip.at[1] - 4, 8, 8);
    context.fillStyle = COLORS.chosen;
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = "#000";
    context.stroke();
  }
}

function gripUnder(view, i, j, x, y) {
  const near = grips(view, i, j).map(grip => [Math.hypot(grip.at[0] - x, grip.at[1] - y), grip]);
  near.sort((a, b) => a[0] - b[0]);
  if (near.length && near[0][0] <= GRAB + 2) return near[0][1];
  // Anywhere on a side.
  const one = box();
  if (!one || one.axes) return null;
  const d = minus(view.place(x, y), one.center), axes = axesOf(one), scale = view.camera.scale;
  const off = [i, j].map(k => (Math.abs(dot(axes[k], d)) - one.size[k] / 2) * scale);
  for (const [n, k] of [[0, i], [1, j]]) {
    if (Math.abs(off[n]) <= GRAB / 2 && off[1 - n] < 0) return { pull: [[k, Math.sign(dot(axes[k], d))]] };
  }
  return null;
}

// The box with the sides that are pulled moved to a place; the sides across from them stay.
function pulled(one, pull, p) {
  const axes = axesOf(one), size = [...one.size];
  let center = one.center;
  for (const [k, sign] of pull) {
    if (!sign) continue;
    const reach = sign * dot(axes[k], minus(p, one.center)) + one.size[k] / 2;
    size[k] = Math.max(LEAST, reach);
    center = along(center, axes[k], sign * (size[k] - one.size[k]) / 2);
  }
  return { ...one, center, size };
}

function put(one) {
  one = { ...one, center: one.center.map(v => round(v, 4)), size: one.size.map(v => round(Math.max(v, LEAST), 4)),
    turn_deg: round(((one.turn_deg + 180) % 360 + 360) % 360 - 180, 1) };
  boxes = boxes.map(other => other.id === one.id ? one : other);
  return one;
}

function pick(x, y) {
  const ray = plan.ray(x, y), volume = one => one.size[0] * one.size[1] * one.size[2];
  const under = boxes.filter(one => hit(one, ray) !== null).sort((a, b) => volume(a) - volume(b));
  return under.length ? under[0].id : null;
}

function begin(event, view, i, j) {
  if (!cloud || !view.camera) return;
  event.preventDefault();
  view.canvas.focus({ preventScroll: true });  // a name that was typed is taken
  view.canvas.setPointerCapture(event.pointerId);
  const x = event.offsetX, y = event.offsetY, from = view.place(x, y), one = box();
  const start = { view, x, y, from, before: snapshot(), ground: { ...ground }, room: { ...room }, one, moved: false };
  if (view === plan && (event.button || held)) drag = { ...start, kind: "pan" };
  else if (event.button) return;
  else if (view === plan && !inPlan) drag = { ...start, kind: "orbit" };
  else if (view === plan && inFloor) {
    let corner = cornerUnder(x, y);
    const added = corner < 0;
    if (added) outline.splice(corner = sideFor(from), 0, [round(from[0], 4), round(from[1], 4)]);
    drag = { ...start, kind: "corner", corner, added };
    paint();
  }
  else {
    const grip = event.shiftKey ? null : gripUnder(view, i, j, x, y);
    if (grip) drag = { ...start, kind: grip.turn ? "turn" : "pull", pull: grip.pull };
    else if (one && !one.axes && !event.shiftKey && inside(one, from, i, j)) drag = { ...start, kind: "move" };
    else if (view === plan) drag = { ...start, kind: "draw" };
  }
}

function inside(one, p, i, j) {
  const axes = axesOf(one), d = minus(p, one.center);
  return [i, j].every(k => Math.abs(dot(axes[k], d)) <= one.size[k] / 2);
}

function move(event) {
  if (!drag) return;
  const { view, x, y, from, one, kind } = drag, p = view.place(event.offsetX, event.offsetY);
  const dx = event.offsetX - x, dy = event.offsetY - y;
  if (!drag.moved && Math.hypot(dx, dy) < 3) return;
  drag.moved = true;
  if (kind === "pan") {
    const { right, up, scale } = view.camera;
    const target = inPlan ? ground : room, origin = inPlan ? drag.ground : drag.room;
    target.center = along(along(origin.center, right, -dx / scale), up, dy / scale);
    aim();
  } else if (kind === "orbit") {
    room.turn = drag.room.turn - dx * 0.008;
    room.tilt = Math.min(1.57, Math.max(0.02, drag.room.tilt + dy * 0.008));
    aim();
  } else if (kind === "draw") {
    drawn = rectangle(from, p);
  } else if (kind === "corner") {
    outline[drag.corner] = [round(p[0], 4), round(p[1], 4)];
  } else if (kind === "turn") {
    const d = minus(p, one.center);
    put({ ...one, turn_deg: Math.atan2(d[1], d[0]) * 180 / Math.PI });
  } else if (kind === "pull") {
    put(pulled(one, drag.pull, p));
  } else if (kind === "move") {
    put({ ...one, center: one.center.map((c, i) => c + p[i] - from[i]) });
  }
  if (kind !== "draw") numbers();
  paint();
}

// The box on the plan between two places, along the axes of the view.
function rectangle(p, q) {
  const d = minus(q, p), { right, up } = ground, long = dot(right, d), wide = dot(up, d);
  const low = Number(at("low").value), center = along(along(p, right, long / 2), up, wide / 2);
  const turn = Math.atan2(right[1], right[0]) * 180 / Math.PI;
  center[2] = low + 0.25;
  return { id: 0, label: "", center, size: [Math.abs(long), Math.abs(wide), 0.5], turn_deg: turn, axes: null };
}

async function end(event) {
  if (!drag) return;
  const { kind, moved, before, x, y, view, corner, added } = drag;
  drag = null;
  if (kind === "corner") {
    if (!moved && !added) outline.splice(corner, 1);
    changed(before);
    return;
  }
  if (!moved && view === plan && kind !== "pan") {
    if (kind !== "pull" && kind !== "turn") choose(pick(x, y));
    return;
  }
  if (kind === "draw" && drawn) {
    const made = drawn;
    drawn = null;
    if (Math.min(made.size[0], made.size[1]) >= LEAST) await add(made, before);
    else paint();
  } else if (moved && ["pull", "turn", "move"].includes(kind)) {
    changed(before);
  }
}

async function add(made, before) {
  made.id = next++;
  boxes = [...boxes, made];
  const rough = put(made);
  chosen = rough.id;
  changed(before);
  at("name").focus();  // before the server answers, so that no letter of the name is lost
  const fitted = await fit(rough, false), now = boxes.find(one => one.id === rough.id);
  if (!fitted) { status("No surface there: pull its height"); return; }
  if (!now || JSON.stringify([now.center, now.size]) !== JSON.stringify([rough.center, rough.size])) return;  // pulled meanwhile
  put({ ...now, ...fitted });
  changed();
}

async function fit(one, tighten) {
  const low = Number(at("low").value), high = Number(at("high").value);
  try {
    const answer = await post("/fit", { box: { ...bare(one), label: one.label || "box" }, low, high, tighten });
    if (!answer.ok) throw new Error(await answer.text());
    const found = await answer.json();
    return found && { center: found.center, size: found.size };
  } catch (error) {
    status(`Not fitted: ${error.message}`);
    return null;
  }
}

async function refit(tighten) {
  const one = box(), before = snapshot();
  if (!one || one.axes) return;
  const fitted = await fit(one, tighten);
  if (fitted && boxes.some(other => other.id === one.id)) put({ ...one, ...fitted });
  changed(before);
}

for (const [view, i, j] of [[plan, 0, 1], [front, 0, 2], [side, 1, 2]]) {
  view.canvas.addEventListener("pointerdown", event => begin(event, view, i, j));
  view.canvas.addEventListener("pointermove", move);
  view.canvas.addEventListener("pointerup", end);
  view.canvas.addEventListener("pointercancel", () => {
    if (drag) restore(drag.before);
    drag = drawn = null;
    show();
  });
  view.canvas.addEventListener("contextmenu", event => event.preventDefault());
}
at("plan").addEventListener("wheel", event => {
  if (!cloud || drag) return;
  event.preventDefault();
  const factor = Math.exp(-Math.max(-300, Math.min(300, event.deltaY)) * 0.0015);
  if (inPlan) {
    const under = plan.place(event.offsetX, event.offsetY);
    ground.scale = Math.min(2000, Math.max(2, ground.scale * factor));
    const share = 1 - ground.scale / factor / ground.scale;
    ground.center = ground.center.map((c, i) => i < 2 ? c + (under[i] - c) * share : c);
  } else {
    room.distance = Math.min(200, Math.max(0.5, room.distance / factor));
  }
  aim();
  paint();
}, { passive: false });

// ---- the panel ----

function choose(id) {
  if (document.activeElement === at("name")) name();
  chosen = id;
  show();
}

let fieldOf = null;  // the box whose name the field shows

function show() {
  const one = box();
  for (const id of ["fit", "down", "tighten"]) at(id).disabled = !one || Boolean(one.axes);
  for (const id of ["copy", "delete", "name"]) at(id).disabled = !one;
  // What is being typed stays, whatever else changes.
  if (document.activeElement !== at("name") || fieldOf !== chosen) at("name").value = one ? one.label : "";
  fieldOf = chosen;
  at("numbers").disabled = !one || Boolean(one.axes);
  at("accept").hidden = !one || !one.proposed;
  at("tilted").hidden = !one || !one.axes;
  at("undo").disabled = !past.length;
  at("redo").disabled = !future.length;
  at("floor").textContent = outline.length > 2 ? `Floor ${areaOf().toFixed(1)} ${scene.unit && "m²"}` : "Floor";
  if (!drag) { aimSide(front, 0); aimSide(side, 1); }
  numbers();
  list();
  look();
  paint();
}

function numbers() {
  const one = box();
  const told = one && !one.axes ? {
    x: one.center[0], y: one.center[1], bottom: one.center[2] - one.size[2] / 2, top: one.center[2] + one.size[2] / 2, length: one.size[0], width: one.size[1],
  } : {};
  for (const id of ["x", "y", "bottom", "top", "length", "width"]) at(id).value = id in told ? round(told[id], 3) : "";
  at("turn").value = one && !one.axes ? round(one.turn_deg, 1) : "";
}

at("numbers").addEventListener("change", () => {
  const one = box(), before = snapshot();
  const [x, y, bottom, top, length, width, turn_deg] = ["x", "y", "bottom", "top", "length", "width", "turn"].map(id => at(id).valueAsNumber);
  if (!one || ![x, y, bottom, top, length, width, turn_deg].every(Number.isFinite) || top <= bottom) { numbers(); return; }
  put({ ...one, center: [x, y, (bottom + top) / 2], size: [length, width, top - bottom], turn_deg });
  changed(before);
});

at("box").addEventListener("submit", event => event.preventDefault());
at("name").addEventListener("keydown", event => {
  if (event.isComposing) return;
  const options = [...at("names").children], now = options.findIndex(option => option.ariaSelected === "true");
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (options.length) mark((now + (event.key === "ArrowDown" ? 1 : now < 0 ? 0 : -1) + options.length) % options.length);
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (now >= 0) at("name").value = options[now].textContent;
    leave();
  }
});
at("name").addEventListener("input", () => suggest());
at("name").addEventListener("focus", () => { at("name").select(); suggest(); });
at("name").addEventListener("blur", () => { suggest(false); name(); });
at("names").addEventListener("pointerdown", event => {
  event.preventDefault();  // the field keeps the focus
  const option = event.target.closest("li");
  if (!option) return;
  at("name").value = option.textContent;
  leave();
});

// Takes the name; a proposal that has been named is accepted, and the next one is chosen.
function leave() {
  const one = box();
  if (name()) {
    accept();
    choose(one && one.proposed ? following() : null);
  }
  at("plan").focus();
}

// Shows the names that begin with what is typed, or have a word that does: those of the scene first.
function suggest(open = true) {
  const typed = normal(at("name").value), used = [...new Set(boxes.map(one => normal(one.label)).filter(Boolean))].sort();
  const known = [...new Set([...used, ...scene.names])].filter(label => label !== typed);
  const begins = known.filter(label => label.startsWith(typed)), has = known.filter(label => label.includes(` ${typed}`));
  const found = !open ? [] : typed ? [...begins, ...has].slice(0, NAMES) : used.slice(0, NAMES);
  at("names").replaceChildren(...found.map((label, n) => {
    const option = document.createElement("li");
    Object.assign(option, { id: `name-${n}`, role: "option", ariaSelected: "false", textContent: label });
    return option;
  }));
  at("names").hidden = !found.length;
  at("name").setAttribute("aria-expanded", found.length > 0);
  at("name").removeAttribute("aria-activedescendant");
}

function mark(n) {
  [...at("names").children].forEach((option, k) => { option.ariaSelected = String(k === n); });
  at("name").setAttribute("aria-activedescendant", `name-${n}`);
}

// Takes the name that is typed; whether the box has one.
function name() {
  const one = box(), before = snapshot(), label = at("name").value.trim().replace(/\s+/g, " ");
  if (!one) return false;
  if (label && label !== one.label) {
    boxes = boxes.map(other => other.id === one.id ? { ...other, label, proposed: false } : other);
    changed(before);
  }
  return Boolean(label);
}

function list() {
  const groups = new Map();
  for (const one of boxes) {
    const label = one.proposed ? PROPOSED : one.label ? normal(one.label) : "";
    groups.set(label, [...(groups.get(label) || []), one]);
  }
  at("count").textContent = boxes.filter(one => !one.proposed).length;
  at("list").replaceChildren(...[...groups].sort((a, b) => a[0] < b[0] ? -1 : 1).map(([label, members]) => {
    const row = document.createElement("li"), head = document.createElement("label");
    if (label && label !== PROPOSED && !scene.fixes) {
      const tick = document.createElement("input");
      tick.type = "checkbox";
      tick.checked = complete.has(label) || label === asking;
      tick.dataset.label = label;
      head.append(tick);
    }
    head.append(label ? `${label}: ${members.length}` : `without a name: ${members.length}`);
    if (label === asking) row.append(confirmation(label, members.length));
    row.prepend(head);
    row.append(...members.map((one, n) => {
      const button = document.createElement("button");
      button.textContent = one.proposed ? one.label : n + 1;
      button.dataset.id = one.id;
      button.setAttribute("aria-label", `${one.proposed ? `proposed ${one.label}` : label || "without a name"} ${n + 1}`);
      button.setAttribute("aria-pressed", one.id === chosen);
      return button;
    }));
    return row;
  }));
}

let asking = null;  // the name whose tick waits for a yes

// A tick promises that there is no other: it is asked for once, with the numbers that somebody can check.
function confirmation(label, count) {
  const question = document.createElement("p"), yes = document.createElement("button"), no = document.createElement("button");
  const film = scene.frames ? ` in the ${scene.frames} frames` : "";
  question.className = "hint";
  question.append(`${count} ${count === 1 ? "box" : "boxes"}. Does nothing else${film} look like "${label}"? `, yes, " ", no);
  yes.textContent = count === 1 ? "It is the only one" : "These are all";
  no.textContent = "Not sure";
  yes.dataset.yes = label;
  no.dataset.yes = "";
  return question;
}

at("list").addEventListener("click", event => {
  const button = event.target.closest("button");
  if (button && "yes" in button.dataset) {
    const before = snapshot();
    if (button.dataset.yes) complete.add(button.dataset.yes);
    asking = null;
    changed(before);
  } else if (button) choose(Number(button.dataset.id));
});
at("list").addEventListener("change", event => {
  const before = snapshot(), label = event.target.dataset.label;
  asking = event.target.checked ? label : null;
  if (!asking) { complete.delete(label); all = false; }
  changed(before);
});

// ---- frames ----

const pictures = new Map();
let views = [], shown = null, asked = 0, lookTimer = null, lookedAt = "", loading = false;

function picture(frame) {
  if (!pictures.has(frame)) {
    if (pictures.size > 200) pictures.delete(pictures.keys().next().value);
    pictures.set(frame, new Promise((done, failed) => {
      const image = new Image();
      image.onload = () => done(image);
      image.onerror = failed;
      image.src = `/frames/${frame}`;
    }));
  }
  return pictures.get(frame);
}

async function drawFrame(canvas, view, width, marked) {
  const image = await picture(view.frame).catch(() => null);
  if (!image) return;
  canvas.width = width;
  canvas.height = Math.round(width * image.naturalHeight / image.naturalWidth);
  const context = canvas.getContext("2d"), [p, q, r] = view.picture_T_world;
  const project = ([x, y, z]) => {
    const row = m => m[0] * x + m[1] * y + m[2] * z + m[3];
    return [row(p) * canvas.width, row(q) * canvas.height, row(r)];
  };
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  for (const one of marked) if (edgesOf(one, project).length) strokeBox(context, one, project, styleOf(one));
}

// Asks for the frames that show the chosen box, once it rests.
function look() {
  const one = box(), told = one ? JSON.stringify(bare(one)) : "";
  if (told !== lookedAt) {
    lookedAt = told;
    asked++;  // what is on its way shows another box
    views = [];
    loading = Boolean(one && scene.frames);
    clearTimeout(lookTimer);
    lookTimer = setTimeout(() => lookNow(one), 150);
  }
  frames();
}

async function lookNow(one) {
  const number = ++asked;
  if (!one || !scene.frames) return;
  const answer = await post("/views", { ...bare(one), label: one.label || "box" }).catch(() => null);
  const found = answer && answer.ok ? await answer.json() : [];
  if (number !== asked) return;
  loading = false;
  views = found;
  if (views.length) { shown = views[0]; at("scrub").value = shown.frame; }
  frames();
}

async function frames() {
  if (!shown) return;
  const one = box();
  at("time").textContent = `${shown.time_s.toFixed(1)} s` + (!one ? "" : loading ? " · loading the frames that show it" : ` · ${views.length} frames show it`);
  drawFrame(at("frame"), shown, 640, one ? [one] : boxes);
  at("thumbs").replaceChildren(...views.map(view => {
    const button = document.createElement("button"), canvas = document.createElement("canvas");
    button.append(canvas);
    button.setAttribute("aria-label", `Frame at ${view.time_s.toFixed(1)} s`);
    button.onclick = () => { shown = view; at("scrub").value = view.frame; frames(); };
    drawFrame(canvas, view, 200, one ? [one] : []);
    return button;
  }));
}

at("scrub").addEventListener("input", async () => {
  const wanted = at("scrub").value, answer = await fetch(`/frames/${wanted}/view`).catch(() => null);
  if (!answer || !answer.ok || at("scrub").value !== wanted) return;
  shown = await answer.json();
  frames();
});

// ---- buttons and keys ----

function mode(flat) {
  inPlan = flat;
  at("plan-view").setAttribute("aria-pressed", flat);
  at("room-view").setAttribute("aria-pressed", !flat);
  aim();
  paint();
}

function remove() {
  const before = snapshot(), was = box();
  boxes = boxes.filter(one => one.id !== chosen);
  chosen = was.proposed ? following() : null;
  changed(before);
}

// Takes the chosen proposal as a box, and goes to the next one.
function accept() {
  const one = box(), before = snapshot();
  if (!one || !one.proposed) return;
  boxes = boxes.map(other => other.id === one.id ? { ...other, proposed: false } : other);
  chosen = following();
  changed(before);
}

function following() {
  const left = boxes.find(one => one.proposed);
  return left ? left.id : null;
}

function copy() {
  const one = box(), before = snapshot();
  const made = { ...one, proposed: false, id: next++, center: along(one.center, ground.right, Math.min(0.3, one.size[0])) };
  boxes = [...boxes, made];
  chosen = made.id;
  if (!made.axes) put(made);
  changed(before);
}

function nudge(change) {
  const one = box(), before = snapshot();
  if (!one || one.axes) return false;
  put(change(one));
  changed(before);
  return true;
}

// Sets the bottom on the floor; the top stays.
function down() {
  nudge(one => pulled(one, [[2, -1]], [one.center[0], one.center[1], scene.floor]));
}

function neighbour(by) {
  if (!boxes.length) return;
  const now = boxes.findIndex(one => one.id === chosen);
  choose(boxes[(now < 0 ? (by > 0 ? 0 : boxes.length - 1) : now + by + boxes.length) % boxes.length].id);
}

at("floor").onclick = () => {
  inFloor = !inFloor;
  at("floor").setAttribute("aria-pressed", inFloor);
  mode(true);
};
at("plan-view").onclick = () => mode(true);
at("room-view").onclick = () => mode(false);
at("whole").onclick = () => { wholeRoom(); aim(); paint(); };
at("undo").onclick = () => step(past, future);
at("redo").onclick = () => step(future, past);
at("fit").onclick = () => refit(false);
at("tighten").onclick = () => refit(true);
at("accept").onclick = accept;
at("down").onclick = down;
at("copy").onclick = copy;
at("delete").onclick = remove;
at("keys").onclick = () => {
  at("help").hidden = !at("help").hidden;
  at("keys").setAttribute("aria-expanded", !at("help").hidden);
  resized();
};
for (const id of ["low", "high"]) at(id).addEventListener("input", () => {
  if (id === "high") at("cut").value = at("high").value;
  aim();
  paint();
});
at("cut").addEventListener("input", () => { at("high").value = at("cut").value; aim(); paint(); });

let held = false;
document.addEventListener("keyup", event => { if (event.key === " ") held = false; });
document.addEventListener("keydown", event => {
  if (!cloud) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key, field = event.target.matches("input");
  // In a field these keys undo what was typed; a name field in which nothing was typed is none.
  const typing = field && !(event.target === at("name") && box() && at("name").value === box().label);
  if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y") && !typing) {
    event.preventDefault();
    if (key === "y" || event.shiftKey) step(future, past); else step(past, future);
    return;
  }
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (key === "Escape") {
    if (field) { at("name").value = box() ? box().label : ""; at("plan").focus(); } else choose(null);
    return;
  }
  if (field || (event.target.matches("button") && (key === " " || key === "Enter"))) return;
  const far = event.shiftKey ? 0.1 : 0.01, small = event.shiftKey ? 1 : 5;
  const shift = (axis, by) => nudge(one => ({ ...one, center: along(one.center, axis, by) }));
  const edge = (sign, by) => nudge(one => pulled(one, [[2, sign]], along(one.center, [0, 0, 1], sign * one.size[2] / 2 + by)));
  const acts = {
    Enter: () => box() && at("name").focus(), Delete: () => box() && remove(), Backspace: () => box() && remove(),
    a: accept, d: () => box() && copy(), f: () => refit(false), t: () => refit(true), g: down, n: () => neighbour(1), p: () => neighbour(-1),
    v: () => mode(!inPlan), 0: () => at("whole").click(), " ": () => { held = true; },
    "[": () => nudge(one => ({ ...one, turn_deg: one.turn_deg + small })), "{": () => nudge(one => ({ ...one, turn_deg: one.turn_deg + 1 })),
    "]": () => nudge(one => ({ ...one, turn_deg: one.turn_deg - small })), "}": () => nudge(one => ({ ...one, turn_deg: one.turn_deg - 1 })),
    ArrowLeft: () => shift(ground.right, -far), ArrowRight: () => shift(ground.right, far),
    ArrowUp: () => shift(ground.up, far), ArrowDown: () => shift(ground.up, -far),
    PageUp: () => edge(event.shiftKey ? -1 : 1, 0.01), PageDown: () => edge(event.shiftKey ? -1 : 1, -0.01),
  };
  if (acts[key]) { event.preventDefault(); acts[key](); }
});

function resized() {
  if (!cloud) return;
  aim();
  aimSide(front, 0);
  aimSide(side, 1);
  paint();
}
window.addEventListener("resize", resized);

// ---- the beginning ----

async function start() {
  scene = await fresh();
  key = `scan2qa-label ${scene.place}`;
  at("scene").textContent = scene.name;
  document.title = `Label ${scene.name}`;
  const raw = await (await fetch("/points")).arrayBuffer(), n = scene.points;
  const bytes = new Uint8Array(raw, 12 * n), color = new Uint32Array(n);
  for (let i = 0; i < n; i++) color[i] = 0xff000000 | bytes[3 * i + 2] << 16 | bytes[3 * i + 1] << 8 | bytes[3 * i];
  cloud = { xyz: new Float32Array(raw, 0, 3 * n), color, spacing: scene.spacing };
  const top = scene.high[2], cut = at("cut");
  at("low").value = round(Math.min(scene.floor, scene.low[2]) - 0.1, 2);
  cut.min = round(scene.floor, 2);
  cut.max = round(top + 0.1, 2);
  cut.value = at("high").value = round(Math.min(scene.floor + 2.2, top + 0.1), 2);
  at("ticks").hidden = at("floor").hidden = scene.fixes;
  if (!scene.unit) document.querySelector(".unit").textContent = "of no known unit";
  at("film").hidden = !scene.frames;
  at("scrub").max = Math.max(0, scene.frames - 1);
  take(scene);
  const kept = JSON.parse(localStorage.getItem(key) || "null");
  let missed = false;
  proposals = JSON.stringify(scene.proposals);
  if (kept && kept.digest === scene.digest) {
    restore(kept.state);
    missed = kept.unsent;
  } else if (kept) {
    const told = JSON.parse(kept.state);
    if (kept.unsent) {
      const theirs = snapshot();
      restore(kept.state);
      past.push(theirs);
      problem(`This browser has boxes that were not saved, and ${scene.file} was changed since.`, true);
    } else {
      boxes = [...boxes, ...told.boxes.filter(one => !one.label || one.proposed)];
    }
  }
  if (scene.proposals.length && !(kept && kept.proposals === proposals)) {
    boxes = [...boxes.filter(one => !one.proposed), ...scene.proposals.map(one => ({ ...one, proposed: true }))];
  }
  boxes = numbered(boxes);
  chosen = following();
  wholeRoom();
  aim();
  show();
  status(n ? "Ready" : "Ready: no mesh, so draw by the frames");
  if (scene.frames) at("scrub").dispatchEvent(new Event("input"));
  if (missed) save();
}

start().catch(error => { status("Not loaded"); problem(error.message); });
