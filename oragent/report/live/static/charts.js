import { h } from "./dom.js";
import { score } from "./format.js";

// Axes of whole numbers, and the steps of their ticks.
const COUNTS = new Set(["candidates", "model calls", "instances, by gain"]);
const WHOLE = [1, 2, 5].flatMap((digit) => Array.from({ length: 8 }, (_, power) => digit * 10 ** power)).sort((a, b) => a - b);

/** @type {any} */ const Plot = /** @type {any} */ (globalThis).uPlot;

/** @param {string} name */
export function cssColor(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

/**
 * A line chart of numbers.
 * @param {{x: string, y: string, data: (number | null)[][], series: {label: string, color: string, points?: boolean, step?: boolean, dash?: number[], width?: number, band?: boolean}[], range?: [number, number], lines?: {value: number, label: string}[], steps?: {x: number, y: number, label: string}[], pick?: (index: number) => void, label: string}} spec
 */
export function lineChart(spec) {
  const node = h("div", { class: "chart", role: "img", "aria-label": spec.label });
  const soft = cssColor("--soft");
  const grid = { stroke: cssColor("--line"), width: 1 };
  const axis = { stroke: soft, grid, ticks: grid, font: "11px system-ui" };
  const step = Plot.paths.stepped({ align: 1 });
  /** @param {any} plot */
  const drawLines = (plot) => {
    plot.ctx.save();
    plot.ctx.font = `${11 * devicePixelRatio}px system-ui`;
    const placed = (spec.lines || []).map((line) => ({ label: line.label, y: plot.valToPos(line.value, "y", true) }))
      .filter(({ y }) => y >= plot.bbox.top && y <= plot.bbox.top + plot.bbox.height).sort((a, b) => a.y - b.y);
    let free = 0; // labels of lines that are close go below each other
    const labels = [];
    for (const { label, y } of placed) {
      plot.ctx.setLineDash([5, 4]);
      plot.ctx.strokeStyle = soft;
      plot.ctx.beginPath();
      plot.ctx.moveTo(plot.bbox.left, y);
      plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
      plot.ctx.stroke();
      labels.push({ label, y: Math.max(y - 4, free) });
      free = labels[labels.length - 1].y + 12 * devicePixelRatio;
    }
    plot.ctx.setLineDash([]);
    plot.ctx.textAlign = "right";
    Object.assign(plot.ctx, { fillStyle: soft, strokeStyle: cssColor("--card"), lineWidth: 4 * devicePixelRatio });
    for (const { label, y } of labels) { // above all lines
      plot.ctx.strokeText(label, plot.bbox.left + plot.bbox.width - 4, y);
      plot.ctx.fillText(label, plot.bbox.left + plot.bbox.width - 4, y);
    }
    drawSteps(plot, soft);
    plot.ctx.restore();
  };
  /** Titles of steps, where they fit: the latest one first. @param {any} plot @param {string} color */
  const drawSteps = (plot, color) => {
    const ratio = devicePixelRatio, right = plot.bbox.left + plot.bbox.width;
    /** @type {{left: number, right: number, y: number}[]} */ const taken = [];
    for (const step of [...(spec.steps || [])].reverse()) {
      const x = plot.valToPos(step.x, "x", true), y = plot.valToPos(step.y, "y", true);
      if (y < plot.bbox.top || y > plot.bbox.top + plot.bbox.height) continue;
      const width = plot.ctx.measureText(step.label).width;
      const isLeft = x + width + 8 * ratio > right;
      const box = { left: isLeft ? x - width - 6 * ratio : x + 6 * ratio, right: isLeft ? x - 6 * ratio : x + width + 6 * ratio, y: y - 7 * ratio };
      if (box.left < plot.bbox.left || taken.some((other) => Math.abs(other.y - box.y) < 13 * ratio && other.left < box.right && box.left < other.right)) continue;
      taken.push(box);
      plot.ctx.textAlign = "left";
      Object.assign(plot.ctx, { fillStyle: cssColor("--ink"), strokeStyle: cssColor("--card"), lineWidth: 4 * ratio });
      plot.ctx.strokeText(step.label, box.left, box.y);
      plot.ctx.fillText(step.label, box.left, box.y);
      plot.ctx.fillStyle = color;
    }
  };
  const draw = () => {
    const width = Math.max(240, node.clientWidth);
    node.replaceChildren();
    const plot = new Plot({
      width, height: Math.round(Math.min(340, Math.max(220, width * 0.42))),
      scales: { x: { time: false }, y: spec.range ? { range: spec.range } : {} },
      axes: [{ ...axis, label: spec.x, incrs: COUNTS.has(spec.x) ? WHOLE : undefined, labelSize: 18, labelFont: "12px system-ui" }, { ...axis, label: spec.y, labelSize: 18, size: 64, labelFont: "12px system-ui", values: (/** @type {any} */ _, /** @type {number[]} */ ticks) => ticks.map((value) => score(value)) }],
      series: [{ label: spec.x, value: (/** @type {any} */ _, /** @type {number} */ value) => score(value) }, ...spec.series.map((line) => ({
        label: line.label, stroke: line.color, width: line.points ? 0 : line.width ?? 2, dash: line.dash,
        paths: line.points ? () => null : line.step ? step : undefined,
        points: { show: Boolean(line.points), size: 4, stroke: line.color, fill: line.color, width: 0 },
        value: (/** @type {any} */ _, /** @type {number | null} */ value) => score(value), spanGaps: !line.points,
      }))],
      bands: spec.series.flatMap((line, at) => (line.band ? [{ series: [at + 1, at + 2], fill: `${line.color}33` }] : [])),
      hooks: { draw: [drawLines] }, cursor: { drag: { x: true, y: false }, focus: { prox: 20 } }, legend: { show: false },
    }, spec.data, node);
    node.append(h("p", { class: "legend" }, spec.series.map((line) => h("span", {}, h("i", { css: { background: line.color } }), line.label))));
    if (spec.pick) plot.over.addEventListener("dblclick", () => { if (plot.cursor.idx !== null) spec.pick?.(plot.cursor.idx); });
  };
  let known = 0;
  new ResizeObserver(() => { if (Math.abs(node.clientWidth - known) > 4) { known = node.clientWidth; draw(); } }).observe(node);
  return node;
}

/** @param {string} from @param {string} to @param {number} share */
function blend(from, to, share) {
  const parse = (/** @type {string} */ text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const [a, b] = [parse(from), parse(to)];
  return `rgb(${a.map((value, at) => Math.round(value + (b[at] - value) * share)).join(",")})`;
}

/** Colour of a score between the seed (0) and the best (1). @param {number} share */
export function scoreColor(share) { return blend(cssColor("--heat0"), cssColor("--heat1"), share); }

/**
 * A map of cells.
 * @param {{columns: number, rows: number, cells: Map<string, {share: number, text: string, best: boolean, open: () => void}>, x: string, y: string, label: string}} spec
 */
export function heatMap(spec) {
  const [low, high, empty, ink, mark] = ["--heat0", "--heat1", "--empty", "--soft", "--s2"].map(cssColor);
  const left = 38, bottom = 34;
  const size = Math.max(7, Math.min(44, Math.floor(420 / Math.max(spec.columns, spec.rows * 0.9))));
  const width = left + spec.columns * size, height = spec.rows * size + bottom, ratio = devicePixelRatio || 1;
  const canvas = h("canvas", { class: "heat", width: width * ratio, height: height * ratio, role: "img", "aria-label": spec.label, css: { width: `${width}px`, "aspect-ratio": `${width} / ${height}` } });
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "11px system-ui";
  for (let x = 0; x < spec.columns; x += 1) for (let y = 0; y < spec.rows; y += 1) {
    const cell = spec.cells.get(`${x},${y}`);
    pen.fillStyle = cell ? blend(low, high, cell.share) : empty;
    pen.fillRect(left + x * size, (spec.rows - 1 - y) * size, size - 1, size - 1);
    if (cell?.best) { pen.strokeStyle = mark; pen.lineWidth = 2; pen.strokeRect(left + x * size + 1, (spec.rows - 1 - y) * size + 1, size - 3, size - 3); }
  }
  pen.fillStyle = ink;
  const every = (/** @type {number} */ number) => Math.max(1, Math.ceil(number / 8));
  for (let x = 0; x < spec.columns; x += every(spec.columns)) pen.fillText(String(x), left + x * size + size / 2 - 4, spec.rows * size + 12);
  for (let y = 0; y < spec.rows; y += every(spec.rows)) pen.fillText(String(y), 20, (spec.rows - 1 - y) * size + size / 2 + 4);
  pen.fillText(spec.x, left, height - 6);
  pen.translate(11, spec.rows * size);
  pen.rotate(-Math.PI / 2);
  pen.fillText(spec.y, 0, 0);
  const tip = h("div", { class: "tip", hidden: true });
  /** @param {MouseEvent} event */
  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const zoom = width / box.width;
    const x = Math.floor(((event.clientX - box.left) * zoom - left) / size), y = spec.rows - 1 - Math.floor(((event.clientY - box.top) * zoom) / size);
    return spec.cells.get(`${x},${y}`);
  };
  canvas.addEventListener("mousemove", (/** @type {MouseEvent} */ event) => {
    const cell = cellAt(event);
    tip.hidden = !cell;
    canvas.style.cursor = cell ? "pointer" : "default";
    if (cell) { tip.textContent = cell.text; tip.style.left = `${event.clientX + 12}px`; tip.style.top = `${event.clientY + 12}px`; }
  });
  canvas.addEventListener("mouseleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (/** @type {MouseEvent} */ event) => cellAt(event)?.open());
  return h("div", {}, canvas, tip);
}
