const at = (id) => document.getElementById(id);
const SIZE = 24, RIGHT = "✓", WRONG = "✗";
const rows = [], details = new Map(), asked = new Map(), byId = new Map();
let found = [], page = 0, open = -1, opener = null, unknown = [];
const filters = ["kind", "task", "scene", "reason", "budget", "model", "outcome", "margin", "doubt", "order", "find"].filter(at);
const replied = JSON.parse(at("filters").dataset.replied);
const load = (file) => {
  if (!asked.has(file)) asked.set(file, new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = file; script.onload = done; script.onerror = () => failed(new Error(file));
    document.head.append(script);
  }));
  return asked.get(file);
};
// Called by the files of data/: rows are [id, task, scene, reason or -1, text, answer or limit, picture, [doubts], file of its detail,
// margin or null, [frame budgets], [1, 0 or null for each model and budget that replied]].
window.gallery = {
  rows(more) { for (const row of more) { row.low = `${row[0]} ${row[4]} ${row[5]}`.toLowerCase(); row.n = rows.length; byId.set(keyOf(row), row); rows.push(row); } },
  details(some) { for (const [key, html] of Object.entries(some)) details.set(key, html); },
};
const value = (f) => at(f)?.value ?? "";
const place = (f, before = 1) => (value(f) ? at(f).selectedIndex - before : -1);
const name = (select, index) => at(select).options[index].value;
const keyOf = (row) => (row[3] < 0 ? row[0] : `${row[0]}.${name("reason", row[3] + 1)}`);
// The view as an address: filters, page and the open question, by their names, so that it holds for the next gallery too.
const address = (row) => {
  const told = new URLSearchParams();
  for (const f of filters) if (value(f)) told.set(f, value(f));
  if (row) told.set("id", keyOf(row)); else if (page) told.set("page", page + 1);
  return told.size ? `#${told}` : "";
};
const keep = (row) => history.replaceState(null, "", location.pathname + location.search + address(row));
const marks = (row) => {
  const budget = value("budget"), own = [];
  row[11].forEach((mark, n) => { if (mark !== null && String(replied[n][1] ?? "") === budget) own.push([replied[n][0], mark]); });
  return own;
};
const share = (margin) => (margin > 0 && margin < 0.01 ? `${(100 * margin).toPrecision(1)}%` : `${Math.round(100 * margin)}%`);
const card = (row, where) => {
  const item = document.createElement("li"), link = document.createElement("a"), words = document.createElement("span");
  const add = (kind, text, tag = "span") => { const part = document.createElement(tag); part.className = kind; part.textContent = text; words.append(part); return part; };
  link.href = address(row); link.dataset.place = where;
  if (row[6]) { const img = document.createElement("img"); img.src = row[6]; img.loading = "lazy"; img.alt = ""; img.className = /\.png$/.test(row[6]) ? "top" : ""; link.append(img); }
  words.className = "words";
  add("small", name("task", row[1] + 1));
  add("text", row[4]);
  if (row[3] < 0) add("", "").append("Answer: ", Object.assign(document.createElement("b"), { textContent: row[5] }));
  else add("refused", "").append(Object.assign(document.createElement("b"), { textContent: row[5] || "rejected" }), ` ${at("reason").options[row[3] + 1].textContent.replace(/ \([\d,]+\)$/, "")}`);
  const said = marks(row);
  if (said.length) {
    const line = add("said", "");
    for (const [model, mark] of said) line.append(Object.assign(document.createElement("span"), { className: mark ? "right" : "wrong", textContent: `${mark ? RIGHT : WRONG} ${model}` }), " ");
  }
  const margin = row[9] === null || row[9] >= 1 ? [] : [`margin ${share(row[9])}`];
  add("small", [name("scene", row[2] + 1), ...margin, ...row[7].map((d) => at("doubt").options[d + 2].textContent)].join(" · "));
  link.append(words); item.append(link);
  return item;
};
const draw = () => {
  const pages = Math.max(1, Math.ceil(found.length / SIZE));
  page = Math.max(0, Math.min(page, pages - 1));
  at("cards").replaceChildren(...found.slice(page * SIZE, (page + 1) * SIZE).map((row, i) => card(row, page * SIZE + i)));
  at("pages").hidden = pages < 2;
  at("where").textContent = `${page + 1} of ${pages}`;
  at("before").disabled = page === 0; at("next").disabled = page === pages - 1;
};
const outcome = (row) => {
  const wanted = value("outcome"), all = marks(row), own = value("model") ? all.filter(([model]) => model === value("model")) : all;
  if (value("model") && !own.length) return false;
  if (!wanted) return true;
  if (wanted === "differ") return all.some(([, mark]) => mark) && all.some(([, mark]) => !mark);
  return own.length > 0 && own.every(([, mark]) => !!mark === (wanted === "right"));
};
const ORDERS = {
  margin: (row) => row[9] ?? Infinity,
  failed: (row) => { const own = marks(row); return own.length ? own.filter(([, mark]) => mark).length / own.length : Infinity; },
};
const filter = () => {
  const words = value("find").toLowerCase().split(/\s+/).filter(Boolean), dropped = value("kind") === "rejected";
  const task = place("task"), scene = place("scene"), reason = place("reason"), doubt = place("doubt", 2), budget = +value("budget"), margin = +value("margin");
  for (const label of at("filters").querySelectorAll("label")) label.classList.toggle("off", label.classList.contains(dropped ? "of-asked" : "of-rejected"));
  found = rows.filter((r) => (r[3] >= 0) === dropped && (task < 0 || r[1] === task) && (scene < 0 || r[2] === scene) && words.every((w) => r.low.includes(w))
    && (dropped ? reason < 0 || r[3] === reason : (!value("doubt") || (doubt < 0 ? r[7].length > 0 : r[7].includes(doubt)))
      && (!budget || r[10].includes(budget)) && (!margin || (r[9] !== null && r[9] < margin)) && outcome(r)));
  const order = dropped ? null : ORDERS[value("order")];
  if (order) { const rank = new Map(found.map((r) => [r, order(r)])); found.sort((a, b) => (rank.get(a) === rank.get(b) ? a.n - b.n : rank.get(a) - rank.get(b))); }
  const lost = unknown.length ? `; this gallery has no ${unknown.join(", ")}` : "";
  at("found").textContent = `${found.length.toLocaleString("en")} ${dropped ? "rejected candidates" : "questions"}${lost}`;
  page = 0; draw();
};
const show = async (where) => {
  const row = found[where];
  open = where;
  await load(`data/${row[8]}`);
  if (open !== where) return;
  at("shown").innerHTML = details.get(row[0] + (row[3] < 0 ? "" : `.${row[3]}`));
  at("earlier").disabled = where === 0; at("later").disabled = where === found.length - 1;
  if (!at("detail").open) at("detail").showModal();
  at("detail").scrollTop = 0;
  keep(row);
};
const fromAddress = () => {
  const text = location.hash.slice(1), given = new URLSearchParams(/^\d+(\.|$)/.test(text) ? `id=${text}` : text);
  unknown = [];
  for (const [f, wanted] of given) if (!filters.includes(f) && f !== "id" && f !== "page") unknown.push(`${f} “${wanted}”`);
  for (const f of filters) {
    const wanted = given.get(f) ?? "";
    at(f).value = wanted;
    if (at(f).value !== wanted) { at(f).value = ""; unknown.push(`${f} “${wanted}”`); }
  }
  const row = byId.get(given.get("id") ?? "");
  if (given.get("id") && !row) unknown.push(`id ${given.get("id")}`);
  filter();
  if (row && !found.includes(row)) { for (const f of filters) at(f).value = ""; at("kind").value = row[3] < 0 ? "" : "rejected"; filter(); }
  page = row ? Math.floor(found.indexOf(row) / SIZE) : +(given.get("page") ?? 1) - 1 || 0;
  draw();
  if (row) show(found.indexOf(row)); else if (at("detail").open) at("detail").close();
};
const turn = (by) => { page += by; draw(); keep(); scrollTo(0, 0); };
at("filters").onsubmit = (event) => event.preventDefault();
for (const f of filters) at(f).oninput = () => { unknown = []; filter(); keep(); };
at("before").onclick = () => turn(-1);
at("next").onclick = () => turn(1);
at("cards").onclick = (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault(); opener = link; show(+link.dataset.place);
};
const step = (by) => { if (found[open + by]) show(open + by); };
at("earlier").onclick = () => step(-1);
at("later").onclick = () => step(1);
at("close").onclick = () => at("detail").close();
at("detail").onclose = () => { keep(); opener?.focus(); };
at("detail").onkeydown = (event) => {
  if (event.target.closest(".scroll, video")) return;
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
};
addEventListener("hashchange", fromAddress);
(async () => {
  try {
    for (let n = 0; n < +at("filters").dataset.chunks; n += 1) { await load(`data/rows-${String(n).padStart(4, "0")}.js`); if (!n) filter(); }
  } catch (error) { at("found").textContent = `${error.message} is missing: make the gallery again`; return; }
  fromAddress();
})();
