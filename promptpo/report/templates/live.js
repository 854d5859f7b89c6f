"use strict";
// Follows a run: asks for the page again, and swaps the sections that have changed. In between, the
// time of a running run goes on by the server's clock.

const PAUSE = 2000;
let version = "";
let known = new Map();
// The server's clock less ours, in seconds; ours counts from when the page was opened.
let ahead = -Infinity;

// The Date of an answer has its fraction cut off, so that the latest one is nearest the truth.
function setClock(answer) {
  const date = Date.parse(answer.headers.get("Date")) / 1000;
  if (!Number.isNaN(date)) ahead = Math.max(ahead, date - performance.now() / 1000);
}

// As promptpo.common.text.duration.
function duration(seconds) {
  const whole = Math.max(Math.floor(seconds), 0);
  const parts = [Math.floor(whole / 60) % 60, whole % 60];
  if (whole >= 3600) parts.unshift(Math.floor(whole / 3600));
  return parts.map((part, i) => (i ? String(part).padStart(2, "0") : part)).join(":");
}

function tick() {
  if (ahead === -Infinity) return;
  for (const box of document.querySelectorAll("[data-since]")) {
    const words = duration(ahead + performance.now() / 1000 - box.dataset.since);
    if (box.firstChild.nodeValue !== words) box.firstChild.nodeValue = words;
  }
}

function sectionsOf(page) {
  return Array.from(page.getElementById("main").children).filter((part) => part.id);
}

function stateOf(part) {
  const sorted = Array.from(part.querySelectorAll("table.sortable"), (table) => {
    const cells = Array.from(table.tHead.rows[0].cells);
    const column = cells.findIndex((cell) => cell.hasAttribute("aria-sort"));
    return [column, column < 0 ? "" : cells[column].getAttribute("aria-sort")];
  });
  const open = Array.from(part.querySelectorAll("details[open][id]"), (box) => box.id);
  const scrolls = Array.from(part.querySelectorAll(".scroll, pre"), (box) => [box.scrollLeft, box.scrollTop]);
  return { sorted, open, scrolls };
}

function restore(part, { sorted, open, scrolls }) {
  makeSortable(part);
  part.querySelectorAll("table.sortable").forEach((table, i) => {
    const [column, direction] = sorted[i] ?? [-1, ""];
    if (column >= 0 && table.tHead.rows[0].cells[column]) sortTable(table, column, direction);
  });
  for (const id of open) {
    const box = document.getElementById(id);
    if (box) box.open = true;
  }
  part.querySelectorAll(".scroll, pre").forEach((box, i) => {
    if (scrolls[i]) [box.scrollLeft, box.scrollTop] = scrolls[i];
  });
}

function focusPath() {
  const active = document.activeElement;
  const holder = active && active.closest("[id]");
  if (!holder || holder.id === "main") return null;
  const inside = Array.from(holder.querySelectorAll("summary, a, button, [tabindex]"));
  return [holder.id, inside.indexOf(active)];
}

function refocus(path) {
  const holder = path && document.getElementById(path[0]);
  if (!holder) return;
  const inside = holder.querySelectorAll("summary, a, button, [tabindex]");
  const target = path[1] < 0 ? holder : inside[path[1]];
  if (target) target.focus({ preventScroll: true });
}

function swap(page) {
  const main = document.getElementById("main");
  const fresh = sectionsOf(page);
  const keep = new Set(fresh.map((part) => part.id));
  const path = focusPath();
  let changed = false;
  for (const part of sectionsOf(document)) {
    if (keep.has(part.id)) continue;
    part.remove();
    changed = true;
  }
  fresh.forEach((part, i) => {
    const html = part.outerHTML;
    const old = document.getElementById(part.id);
    if (old && known.get(part.id) === html) return;
    changed = true;
    known.set(part.id, html);
    const state = old ? stateOf(old) : null;
    const node = document.importNode(part, true);
    if (old) old.replaceWith(node);
    else main.insertBefore(node, main.children[i] ?? null);
    if (state) restore(node, state);
    else makeSortable(node);
  });
  refocus(path);
  document.title = page.title;
  return changed;
}

function say(words) {
  const status = document.getElementById("live");
  if (status.textContent !== words) status.textContent = words;
}

async function follow() {
  try {
    const headers = version ? { "If-None-Match": version } : {};
    const answer = await fetch(location.pathname, { headers, cache: "no-store" });
    setClock(answer);
    if (answer.ok) {
      version = answer.headers.get("ETag") ?? "";
      const changed = swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (changed) say("Following; changed at " + new Date().toLocaleTimeString());
      else say("Following");
    } else if (answer.status !== 304) {
      say("The server answers " + answer.status);
    }
    tick();
  } catch {
    ahead = -Infinity; // nobody knows whether the run goes on
    say("The server is gone; start promptpo view again");
  }
  setTimeout(follow, PAUSE);
}

for (const part of sectionsOf(document)) known.set(part.id, part.outerHTML);
follow();
setInterval(tick, 1000);
