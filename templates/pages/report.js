const draws = document.getElementById("draws"), only = document.getElementById("only"), where = document.getElementById("where");
const size = Number(draws.dataset.drawn);
const all = [...draws.children, ...[...document.querySelectorAll("template.kept")].map((t) => t.content.firstElementChild)];
let at = 0;
const show = () => {
  const fits = all.filter((card) => !only.value || card.dataset.task === only.value);
  if (at >= fits.length) at = 0;
  const shown = fits.slice(at, at + size);
  draws.replaceChildren(...shown);
  where.textContent = `${at + 1} to ${at + shown.length} of ${fits.length}`;
  at += size;
};
document.getElementById("again").onclick = show;
only.onchange = () => { at = 0; show(); };
document.getElementById("controls").hidden = false;
show();
