// Keys, the dot on the map, and messages. The page works without this file.
"use strict";

const STEP_S = 2;
const at = id => document.getElementById(id);

function problem(text) {
  const box = at("problem");
  box.textContent = text;
  box.hidden = !text;
}

// What was typed and no button has sent.
const UNSENT = "What you typed is not stored yet. Go on without it?";
const unsent = () => [...document.querySelectorAll("#work textarea, #work input:not([type=hidden])")]
  .filter(field => field.value !== field.defaultValue);
let leaving = false;

window.addEventListener("pageshow", () => { leaving = false; });
window.addEventListener("beforeunload", event => { if (!leaving && unsent().length) event.preventDefault(); });
document.addEventListener("click", event => {
  if (!event.target.closest("a[href]:not([target])") || !unsent().length) return;
  leaving = confirm(UNSENT);
  if (!leaving) event.preventDefault();
});
document.addEventListener("htmx:beforeRequest", event => {
  const form = event.detail.elt;
  if (unsent().some(field => !form.contains(field)) && !confirm(UNSENT)) event.preventDefault();
  else problem("");
});
document.addEventListener("htmx:responseError", event => problem(event.detail.xhr.responseText));
document.addEventListener("htmx:sendError", () =>
  problem("The server does not answer: nothing was stored. Start it again, then repeat what you did."));
document.addEventListener("htmx:afterSwap", () => {
  const flagging = at("flagging");
  if (flagging) flagging.open = false;
  const verdict = at("verdict");
  if (verdict) verdict.scrollIntoView({ block: "nearest" });
  place();
});

// The dot lies on the path where the camera is at the time of the video, between the two points next to it.
function place() {
  const video = at("video");
  const path = document.querySelector(".map [data-times]");
  const dot = document.querySelector(".map .here");
  if (!video || !path || !dot) return;
  const times = path.dataset.times.split(" ").map(Number);
  const now = video.currentTime;
  let k = times.findIndex(time => time > now);
  if (k < 0) k = times.length - 1;
  const last = Math.max(0, k - 1);
  const one = path.points[last], other = path.points[k];
  const span = times[k] - times[last];
  const share = span > 0 ? Math.min(1, Math.max(0, (now - times[last]) / span)) : 0;
  dot.setAttribute("cx", one.x + share * (other.x - one.x));
  dot.setAttribute("cy", one.y + share * (other.y - one.y));
  dot.classList.add("on");
}

const film = at("video");
if (film) {
  for (const name of ["timeupdate", "seeked", "loadedmetadata"]) film.addEventListener(name, place);
  film.addEventListener("play", function follow() {
    place();
    if (!film.paused) requestAnimationFrame(follow);
  });
}

function seek(seconds) {
  const video = at("video");
  if (!video) return;
  const end = Number.isFinite(video.duration) ? video.duration : seconds;
  video.currentTime = Math.min(Math.max(seconds, 0), end);
}

document.addEventListener("click", event => {
  const button = event.target.closest("[data-seek]");
  if (!button) return;
  seek(Number(button.dataset.seek));
  const video = at("video");
  if (video) video.scrollIntoView({ block: "nearest" });
});

// The reason "other" says nothing without a note.
document.addEventListener("click", event => {
  const other = event.target.closest("#flag [value=other]");
  const note = at("note");
  if (!other || note.value.trim()) return;
  event.preventDefault();
  problem("Say in the note what is wrong, then flag it as other.");
  note.focus();
});

function press(element) {
  if (!element) return false;
  element.click();
  return true;
}

// What a key does; whether it did something.
function act(key) {
  const video = at("video");
  const flagging = at("flagging");
  if (key === " " && video) {
    if (video.paused) video.play(); else video.pause();
    return true;
  }
  if (key === "ArrowLeft" && video) { seek(video.currentTime - STEP_S); return true; }
  if (key === "ArrowRight" && video) { seek(video.currentTime + STEP_S); return true; }
  if (key === "f" && flagging) {
    flagging.open = !flagging.open;
    if (flagging.open) { flagging.scrollIntoView({ block: "nearest" }); at("reasons").focus(); }
    return true;
  }
  if (key === "n") return press(at("next"));
  if (key === "y") return press(at("accept"));
  if (key === "u") return press(at("undo"));
  if (flagging && flagging.open && /^[0-9]$/.test(key)) return press(flagging.querySelector(`[data-digit="${key}"]`));
  if (/^[a-e]$/.test(key)) return press(document.querySelector(`.option[data-key="${key}"]`));
  if (/^[0-9]$/.test(key)) return press(document.querySelector(`.option[data-digit="${key}"]`));
  return false;
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const field = event.target;
  if (key === "Escape" && field.blur) { field.blur(); return; }
  const number = field.id === "number";
  if (field.matches("textarea, input") && !(number && /^(f|n|u| )$/.test(key))) return;
  // A focused button, link or video has keys of its own.
  if (field.matches("button, a, summary") && key === " ") return;
  if (field.matches("video") && (key === " " || key.startsWith("Arrow"))) return;
  if (event.repeat && !key.startsWith("Arrow")) return;
  if (act(key)) event.preventDefault();
});

place();
