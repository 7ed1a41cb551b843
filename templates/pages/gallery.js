const at = (id) => document.getElementById(id);
const SIZE = 60;
const rows = [], details = new Map(), asked = new Map(), byId = new Map();
let found = [], page = 0, open = -1, opener = null;
const filters = ["kind", "task", "scene", "reason", "doubt", "find"];
const load = (file) => {
  if (!asked.has(file)) asked.set(file, new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = file; script.onload = done; script.onerror = () => failed(new Error(file));
    document.head.append(script);
  }));
  return asked.get(file);
};
// Called by the files of data/: rows are [id, task, scene, reason or -1, text, answer or limit, picture, [doubts], file of its detail].
window.gallery = {
  rows(more) { for (const row of more) { row.low = `${row[0]} ${row[4]} ${row[5]}`.toLowerCase(); byId.set(String(row[0]) + row[3], row); rows.push(row); } },
  details(some) { for (const [key, html] of Object.entries(some)) details.set(key, html); },
};
const name = (select, index) => at(select).options[index].textContent;
const card = (row, place) => {
  const item = document.createElement("li"), link = document.createElement("a"), words = document.createElement("span");
  const add = (kind, text, tag = "span") => { const part = document.createElement(tag); part.className = kind; part.textContent = text; words.append(part); return part; };
  link.href = `#${row[0]}${row[3] < 0 ? "" : `.${row[3]}`}`; link.dataset.place = place;
  if (row[6]) { const img = document.createElement("img"); img.src = row[6]; img.loading = "lazy"; img.alt = ""; link.append(img); }
  words.className = "words";
  add("small", name("task", row[1] + 1));
  add("text", row[4]);
  if (row[3] < 0) add("", "").append("Answer: ", Object.assign(document.createElement("b"), { textContent: row[5] }));
  else add("refused", "").append(Object.assign(document.createElement("b"), { textContent: row[5] || "rejected" }), ` ${name("reason", row[3] + 1).replace(/ \([\d,]+\)$/, "")}`);
  add("small", [name("scene", row[2] + 1), ...row[7].map((d) => name("doubt", d + 2))].join(" · "));
  link.append(words); item.append(link);
  return item;
};
const draw = () => {
  const pages = Math.max(1, Math.ceil(found.length / SIZE));
  page = Math.min(page, pages - 1);
  at("cards").replaceChildren(...found.slice(page * SIZE, (page + 1) * SIZE).map((row, i) => card(row, page * SIZE + i)));
  at("pages").hidden = pages < 2;
  at("where").textContent = `${page + 1} of ${pages}`;
  at("before").disabled = page === 0; at("next").disabled = page === pages - 1;
};
const filter = () => {
  const value = Object.fromEntries(filters.map((f) => [f, at(f).value])), words = value.find.toLowerCase().split(/\s+/).filter(Boolean);
  const dropped = value.kind === "dropped";
  at("reason").closest("label").classList.toggle("off", !dropped); at("doubt").closest("label").classList.toggle("off", dropped);
  found = rows.filter((r) => (r[3] >= 0) === dropped && (value.task === "" || r[1] === +value.task) && (value.scene === "" || r[2] === +value.scene)
    && (!dropped || value.reason === "" || r[3] === +value.reason)
    && (dropped || value.doubt === "" || (value.doubt === "any" ? r[7].length > 0 : r[7].includes(+value.doubt))) && words.every((w) => r.low.includes(w)));
  at("found").textContent = `${found.length.toLocaleString("en")} ${dropped ? "rejected candidates" : "questions"}`;
  page = 0; draw();
};
const show = async (place) => {
  const row = found[place];
  open = place;
  await load(`data/${row[8]}`);
  if (open !== place) return;
  at("shown").innerHTML = details.get(row[0] + (row[3] < 0 ? "" : `.${row[3]}`));
  at("earlier").disabled = place === 0; at("later").disabled = place === found.length - 1;
  if (!at("detail").open) at("detail").showModal();
  at("detail").scrollTop = 0;
  history.replaceState(null, "", `#${row[0]}${row[3] < 0 ? "" : `.${row[3]}`}`);
};
const fromAddress = () => {
  const [id, reason] = decodeURIComponent(location.hash.slice(1)).split(".");
  const row = id && byId.get(id + (reason ?? -1));
  if (!row) return;
  if (!found.includes(row)) { at("kind").value = row[3] < 0 ? "asked" : "dropped"; for (const f of filters.slice(1)) at(f).value = ""; filter(); }
  const place = found.indexOf(row);
  page = Math.floor(place / SIZE); draw();
  show(place);
};
at("filters").onsubmit = (event) => event.preventDefault();
for (const f of filters) at(f).oninput = filter;
at("before").onclick = () => { page -= 1; draw(); scrollTo(0, 0); };
at("next").onclick = () => { page += 1; draw(); scrollTo(0, 0); };
at("cards").onclick = (event) => {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault(); opener = link; show(+link.dataset.place);
};
const step = (by) => { if (found[open + by]) show(open + by); };
at("earlier").onclick = () => step(-1);
at("later").onclick = () => step(1);
at("close").onclick = () => at("detail").close();
at("detail").onclose = () => { history.replaceState(null, "", location.pathname + location.search); opener?.focus(); };
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
  filter(); fromAddress();
})();
