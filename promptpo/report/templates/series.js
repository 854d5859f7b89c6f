
// Draws an episode's plots with uPlot, in place of the drawings that the page has for print and for
// browsers without scripts. All panels of a policy share their steps: zoom, pointer, range of keys.

const GAP = 65535, UP = 65534, DOWN = 65533;
const COLOURS = ["--accent", "--third", "--second", "--s3", "--s4", "--s5", "--s6", "--s7", "--s8", "--s1"];
const DASHES = { best: [], only: [], median: [2, 3], worst: [6, 3] };
const BINS = 24;

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const short = (value) => value == null ? "–" : String(Number(value.toPrecision(4)));

function unpacked([low, high, packed]) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const codes = new DataView(bytes.buffer);
  const step = (high - low) / (DOWN - 1); // digits below it are not known
  const digits = Math.min(Math.max(Math.floor(-Math.log10(step)), 0), 12);
  return Array.from({ length: bytes.length / 2 }, (_, i) => {
    const code = codes.getUint16(2 * i, true);
    if (code === GAP) return null;
    return code === UP ? Infinity : code === DOWN ? -Infinity : Number((low + step * code).toFixed(digits));
  });
}

class Plots {
  constructor(box) {
    this.box = box;
    const data = JSON.parse(box.dataset.plots);
    this.episodes = data.episodes;
    this.panels = data.panels.map((panel) => ({ ...panel, lines: panel.lines.map(unpacked), on: true }));
    const longest = Math.max(...this.panels[0].lines.map((line) => line.length));
    this.steps = Array.from({ length: longest }, (_, i) => i * data.every);
    this.on = this.episodes.map(({ word }) => word in DASHES && word !== "median");
    this.order = this.episodes.map((_, i) => this.episodes.length - 1 - i); // the best is drawn last
    this.zoom = [0, this.steps.at(-1) || 1];
    this.step = 0;
    this.shared = this.bars = false;
    this.tools(data.every);
    this.grid = make("div", { className: "panels" });
    box.append(this.grid);
    box.classList.add("is-live");
    this.panels.forEach((panel) => this.place(panel));
    this.draw();
    new ResizeObserver(() => this.fit()).observe(this.grid);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // The controls above the panels.
  tools(every) {
    const box = (words, checked, change, swatch) => {
      const input = make("input", { type: "checkbox", checked });
      input.addEventListener("change", () => { change(input.checked); this.draw(); });
      return make("label", {}, input, ...(swatch ? [swatch] : []), words);
    };
    const button = (words, click) => {
      const control = make("button", { type: "button", textContent: words });
      control.addEventListener("click", click);
      return control;
    };
    const swatch = (i) => {
      const line = make("span", { className: "swatch" });
      line.style.borderTopColor = `var(${COLOURS[i % COLOURS.length]})`;
      const dash = DASHES[this.episodes[i].word];
      line.style.borderTopStyle = dash?.length ? dash[0] < 4 ? "dotted" : "dashed" : "solid";
      return line;
    };
    const labels = this.episodes.map(
      ({ word, about }, i) => box(`${word}: ${about}`, this.on[i], (on) => { this.on[i] = on; }, swatch(i)));
    const usual = labels.filter((_, i) => this.episodes[i].word in DASHES);
    const others = labels.filter((label) => !usual.includes(label));
    const episodes = [make("fieldset", {}, make("legend", { textContent: "Episodes" }), ...usual)];
    if (others.length) {
      episodes.push(make("details", {}, make("summary", { textContent: `${others.length} more episodes` }), make("fieldset", {}, ...others)));
    }
    const fields = this.panels.map((panel) => box(panel.name, true, (on) => { panel.on = on; }));
    const all = (on) => () => {
      for (const label of fields) label.firstChild.checked = on;
      for (const panel of this.panels) panel.on = on;
      this.draw();
    };
    const chosen = make("details", {}, make("summary", { textContent: "Fields" }),
      make("fieldset", {}, button("All", all(true)), button("None", all(false)), ...fields));
    const looks = make("fieldset", {}, make("legend", { textContent: "Axes" }),
      box("one scale for all parts of a field", false, (on) => { this.shared = on; }));
    if (this.panels.some((panel) => panel.group === "action")) {
      looks.append(box("actions as histograms", false, (on) => { this.bars = on; }));
    }
    this.slider = make("input", { type: "range", min: 0, max: this.steps.length - 1, value: 0 });
    this.slider.setAttribute("aria-label", "Step");
    this.slider.addEventListener("input", () => this.point(this.slider.valueAsNumber));
    this.told = make("output");
    const about = (share) => () => {
      const [low, high] = this.zoom, middle = this.steps[this.step], last = this.steps.at(-1) || 1;
      const wide = Math.max((high - low) * share, 4 * every);
      const start = Math.max(0, Math.min(middle - wide / 2, last - wide));
      this.zoomTo(start, Math.min(start + wide, last));
    };
    const moves = make("fieldset", {}, make("span", { className: "step" }, this.slider, this.told),
      button("Zoom in", about(0.5)), button("Zoom out", about(2)),
      button("Whole episode", () => this.zoomTo(0, this.steps.at(-1) || 1)));
    const thin = every > 1 ? [make("span", { textContent: `One step in ${every} is drawn.` })] : [];
    this.box.append(make("div", { className: "tools" }, ...episodes, chosen, looks, moves, ...thin));
  }

  place(panel) {
    panel.now = make("span", { className: "now" });
    panel.room = make("div", { ariaHidden: "true" });
    const name = make("span", { textContent: panel.name + " " }, make("span", { textContent: panel.unit }));
    panel.figure = make("figure", { className: "panel" }, make("figcaption", {}, name, panel.now), panel.room);
    this.grid.append(panel.figure);
  }

  range(panel) {
    const same = this.shared ? this.panels.filter((other) => other.group === panel.group) : [panel];
    if (this.zoom[0] <= 0 && this.zoom[1] >= this.steps.at(-1)) {
      return [Math.min(...same.map((p) => p.range[0])), Math.max(...same.map((p) => p.range[1]))];
    }
    let low = Infinity, high = -Infinity;
    for (const { lines } of same) {
      lines.forEach((line, i) => this.on[i] && line.forEach((value, at) => {
        if (!Number.isFinite(value) || value === null || this.steps[at] < this.zoom[0] || this.steps[at] > this.zoom[1]) return;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }));
    }
    if (low > high) return panel.range;
    const air = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1;
    return [low - air, high + air];
  }

  // Makes each panel anew: a policy has some dozens at most, and this takes milliseconds.
  draw() {
    this.colours = COLOURS.map(css);
    for (const panel of this.panels) {
      panel.plot?.destroy();
      panel.plot = null;
      panel.figure.hidden = !panel.on;
      if (!panel.on) continue;
      const counted = this.bars && panel.group === "action";
      panel.plot = counted ? this.histogram(panel) : this.series(panel);
    }
    this.point(this.step);
  }

  options(more) {
    const axis = { stroke: css("--soft"), grid: { stroke: css("--rule"), width: 1 }, ticks: { show: false }, font: `11px ${css("--sans")}`, gap: 3 };
    return {
      width: Math.max(this.grid.firstChild.clientWidth, 200), height: 120, padding: [6, 10, 0, 0],
      legend: { show: false }, axes: [{ ...axis, size: 20 }, { ...axis, size: 52, ...more.left }], ...more,
    };
  }

  looks(i, path) {
    const { word } = this.episodes[i];
    return { show: this.on[i], stroke: this.colours[i % this.colours.length], dash: DASHES[word] ?? [], width: 1.5, points: { show: false }, spanGaps: false, ...path };
  }

  series(panel) {
    const named = panel.levels.length > 0;
    const stairs = named ? { paths: uPlot.paths.stepped({ align: 1 }) } : {};
    const plot = new uPlot(this.options({
      left: named ? { splits: panel.levels.map((_, i) => i), values: (_, at) => at.map((v) => panel.levels[v]?.slice(0, 12)), size: 84 } : {},
      scales: { x: { time: false, range: () => this.zoom }, y: { range: () => named ? [-0.5, panel.levels.length - 0.5] : this.range(panel) } },
      cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
      series: [{}, ...this.order.map((i) => this.looks(i, stairs))],
      hooks: {
        draw: [(u) => this.limits(u, panel)],
        setCursor: [(u) => { if (u.cursor.idx != null && u.cursor.event) this.point(u.cursor.idx, u); }],
        setSelect: [(u) => {
          if (u.select.width > 3) this.zoomTo(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }), [this.steps, ...this.order.map((e) => this.steps.map((_, i) => Number.isFinite(panel.lines[e][i]) ? panel.lines[e][i] : null))], panel.room);
    plot.over.addEventListener("dblclick", () => this.zoomTo(0, this.steps.at(-1) || 1));
    return plot;
  }

  // Lines at the limits of what can occur, where these are in sight.
  limits(u, panel) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = css("--bad");
    ctx.globalAlpha = 0.7;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const limit of panel.limits) {
      if (limit == null || limit < u.scales.y.min || limit > u.scales.y.max) continue;
      const at = u.valToPos(limit, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, at);
      ctx.lineTo(bbox.left + bbox.width, at);
      ctx.stroke();
    }
    ctx.restore();
  }

  // How large a share of the steps in sight each range of values has.
  histogram(panel) {
    const inside = panel.lines.map((line) => line.filter((value, i) =>
      Number.isFinite(value) && value !== null && this.steps[i] >= this.zoom[0] && this.steps[i] <= this.zoom[1]));
    const all = inside.flat();
    const values = Array.from(new Set(all)).sort((a, b) => a - b);
    const whole = values.length <= BINS && values.every(Number.isInteger);
    let low = values[0] ?? 0, high = values.at(-1) ?? 1;
    if (whole) { low -= 0.5; high += 0.5; } else if (low === high) { low -= 0.5; high += 0.5; }
    const bins = whole ? Math.round(high - low) : BINS, wide = (high - low) / bins;
    const counts = inside.map((line) => {
      const bars = new Array(bins).fill(0);
      for (const value of line) bars[Math.min(Math.floor((value - low) / wide), bins - 1)] += 1 / line.length;
      return [...bars, bars.at(-1)];
    });
    const stairs = { paths: uPlot.paths.stepped({ align: 1 }) };
    return new uPlot(this.options({
      left: { values: (_, at) => at.map((v) => `${Math.round(100 * v)}%`) },
      scales: { x: { time: false, range: [low, high] }, y: { range: (_, __, top) => [0, top * 1.06 || 1] } },
      cursor: { show: false },
      series: [{}, ...this.order.map((i) => this.looks(i, { ...stairs, fill: `color-mix(in srgb, ${this.colours[i % this.colours.length]} 14%, transparent)` }))],
    }), [Array.from({ length: bins + 1 }, (_, i) => low + i * wide), ...this.order.map((i) => counts[i])], panel.room);
  }

  zoomTo(low, high) {
    this.zoom = [low, high];
    if (this.shared || this.bars) return this.draw();
    for (const { plot } of this.panels) plot?.redraw(true, true), plot?.setScale("x", { min: low, max: high });
    this.point(this.step);
  }

  // Shows the values of a step in every panel; ``from`` is the panel that the pointer is over.
  point(step, from) {
    this.step = step;
    this.slider.value = step;
    this.told.textContent = `step ${this.steps[step] ?? 0}`;
    for (const panel of this.panels) {
      if (!panel.plot) continue;
      const words = this.bars && panel.group === "action" ? [] : this.episodes.flatMap((_, i) => {
        if (!this.on[i]) return [];
        const value = panel.lines[i][step];
        const told = make("span", { textContent: panel.levels.length && value != null ? panel.levels[value] : short(value) });
        told.style.color = `var(${COLOURS[i % COLOURS.length]})`;
        return [told];
      });
      panel.now.replaceChildren(...words);
      if (panel.plot === from || !words.length) continue;
      const left = panel.plot.valToPos(this.steps[step] ?? 0, "x");
      panel.plot.setCursor({ left: left >= 0 && left <= panel.plot.over.clientWidth ? left : -10, top: 0 }, false);
    }
  }

  fit() {
    const wide = this.panels.find((panel) => panel.on)?.figure.clientWidth;
    if (wide) for (const { plot } of this.panels) if (plot && plot.width !== wide) plot.setSize({ width: wide, height: 120 });
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    new Plots(target);
  }
}, { rootMargin: "200px" });
for (const box of document.querySelectorAll("[data-plots]")) seen.observe(box);
