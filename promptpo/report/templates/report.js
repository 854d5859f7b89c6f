"use strict";
// The page reads well without this: it adds sorting, filters and copying, opens what a link leads
// to, and what prints, and keeps the controls of videos off their captions.

function keyOf(row, column) {
  const cell = row.cells[column];
  const key = cell.dataset.sort ?? cell.textContent.replace(/(\d),(?=\d)/g, "$1");
  const number = { "": -Infinity, inf: Infinity, "-inf": -Infinity, nan: -Infinity }[key] ?? Number(key);
  return Number.isNaN(number) ? key : number;
}

function sortTable(table, column, direction) {
  const body = table.tBodies[0];
  const sign = direction === "ascending" ? 1 : -1;
  const rows = Array.from(body.rows);
  rows.sort((a, b) => {
    const x = keyOf(a, column), y = keyOf(b, column);
    const order = typeof x === "number" && typeof y === "number"
      ? (x < y ? -1 : x > y ? 1 : 0) : String(x).localeCompare(String(y));
    return sign * order;
  });
  body.append(...rows);
  Array.from(table.tHead.rows[0].cells).forEach((cell, i) => {
    if (i === column) cell.setAttribute("aria-sort", direction);
    else cell.removeAttribute("aria-sort");
  });
}

function makeSortable(root) {
  for (const table of root.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length < 2) continue;
    Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
      if (cell.firstElementChild || !cell.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      button.addEventListener("click", () => {
        // A number is asked for from the top, a name from A.
        const first = cell.classList.contains("num") ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        sortTable(table, column, cell.getAttribute("aria-sort") === first ? other : first);
      });
      cell.replaceChildren(button);
    });
  }
}

// Above a table of runs: words that must be in a row, and choices for columns of few values.
function makeFilters(table) {
  const rows = Array.from(table.tBodies[0].rows);
  if (rows.length < 3) return;
  const bar = document.createElement("form");
  bar.className = "filters";
  bar.addEventListener("submit", (event) => event.preventDefault());
  const labelled = (words, control) => {
    const label = document.createElement("label");
    label.append(words, control);
    bar.append(label);
    return control;
  };
  const search = labelled("Filter", document.createElement("input"));
  search.type = "search";
  const choices = [];
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const values = new Set(rows.map((row) => row.cells[column].textContent.trim()));
    if (column === 0 || head.classList.contains("num") && head.textContent !== "Seed") return;
    if (values.size < 2 || values.size > 25 || values.size === rows.length) return;
    const choice = labelled(head.textContent, document.createElement("select"));
    choice.append(new Option("all", ""), ...Array.from(values).sort().map((v) => new Option(v || "none", v || " ")));
    choices.push([column, choice]);
  });
  const count = document.createElement("output");
  bar.append(count);
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word)) || choices.some(
        ([column, choice]) => choice.value && row.cells[column].textContent.trim() !== choice.value.trim());
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length}`;
  };
  bar.addEventListener("input", apply);
  table.closest(".scroll").before(bar);
  apply();
}

// Copies the lines of a source, without their numbers and counts.
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const lines = Array.from(button.parentElement.querySelectorAll(".line"), (line) => {
      const copy = line.cloneNode(true);
      copy.querySelector(".ran")?.remove();
      return copy.textContent.replace(/\n$/, "");
    });
    try {
      await navigator.clipboard.writeText(lines.join("\n") + "\n");
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

function openTarget() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id && document.getElementById(id);
  if (!target) return;
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) {
    box.open = true;
  }
  target.scrollIntoView();
}

makeSortable(document);
for (const table of document.querySelectorAll("table.runs")) makeFilters(table);
addEventListener("hashchange", openTarget);
openTarget();

// Browsers draw the controls over the lower edge of a video, where the caption strip is: with the
// shape of the picture known, the style sheet leaves room for them below it.
function leaveRoom(video) {
  if (video.videoWidth) video.style.setProperty("--shape", video.videoHeight / video.videoWidth);
}

for (const video of document.querySelectorAll("video")) leaveRoom(video);
addEventListener("loadedmetadata", (event) => leaveRoom(event.target), true);

let printed = [];
addEventListener("beforeprint", () => {
  printed = Array.from(document.querySelectorAll("details.print:not([open])"));
  for (const box of printed) box.open = true;
});
addEventListener("afterprint", () => {
  for (const box of printed) box.open = false;
});
