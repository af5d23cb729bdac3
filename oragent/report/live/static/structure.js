import { button, card, choose, fill, h, table, tile } from "./dom.js";
import { NO_PROGRAM, difference, inOneLayout } from "./code.js";
import { ask } from "./data.js";
import { heatMap, scoreColor } from "./charts.js";
import { count, gain, gainText, percent, plural, score } from "./format.js";

const MAX_NODES = 1500;

/** Rows of the tree: those that led to elites or improved the best, and their ancestors. @param {any} run @param {boolean} isWhole */
function linesToElites(run, isWhole) {
  const keep = new Set(run.improvements);
  const islands = new Set(run.c.island.slice(0, 20000).filter((/** @type {number} */ island) => island >= 0));
  const axes = run.summary.axes.map((/** @type {any} */ _, /** @type {number} */ at) => at);
  if (axes.length) for (const island of islands) for (const row of run.archive(island, run.count, axes).values()) keep.add(row);
  else [...Array(run.count).keys()].filter((row) => run.c.placed[row] !== "").sort((a, b) => gain(run.direction, run.c.score[b], run.c.score[a])).slice(0, 40).forEach((row) => keep.add(row));
  if (isWhole) for (let row = 0; row < run.count; row += 1) if (run.c.origin[row] !== "probe") keep.add(row);
  for (const row of [...keep]) for (const ancestor of run.path(row)) keep.add(ancestor);
  const sorted = [...keep].sort((a, b) => a - b);
  return sorted.length > MAX_NODES ? sorted.filter((row) => run.improvements.includes(row) || row >= run.count - MAX_NODES) : sorted;
}

/** @param {any} run @param {(view: string) => string} link @param {URLSearchParams} query @param {(query: Record<string, string>) => void} remember */
export function lineage(run, link, query, remember) {
  const isWhole = query.get("all") === "1";
  const rows = linesToElites(run, isWhole);
  const best = new Set(run.path(run.best));
  /** @type {Map<number, number[]>} */ const children = new Map();
  const inTree = new Set(rows);
  const roots = [];
  for (const row of rows) {
    const parent = run.rows.get(run.c.parents[row][0]);
    if (parent === undefined || !inTree.has(parent) || parent >= row) roots.push(row);
    else children.set(parent, [...(children.get(parent) || []), row]);
  }
  /** @type {Map<number, {x: number, y: number}>} */ const at = new Map();
  let leaf = 0;
  /** @param {number} row @param {number} depth @returns {number} */
  const place = (row, depth) => {
    const below = (children.get(row) || []).sort((a, b) => Number(best.has(b)) - Number(best.has(a)));
    const ys = depth < 900 ? below.map((child) => place(child, depth + 1)) : [];
    const y = ys.length ? ys[0] : leaf++;
    at.set(row, { x: depth, y });
    return y;
  };
  roots.forEach((row) => place(row, 0));
  // A small tree is drawn larger.
  const depth = Math.max(1, ...[...at.values()].map((p) => p.x));
  const dx = Math.min(72, Math.max(26, Math.floor(900 / depth))), dy = Math.min(24, Math.max(13, Math.floor(420 / leaf))), left = 14, bend = dx * 0.55, dot = dy > 18 ? 5 : 3.6;
  const width = left * 2 + depth * dx, height = 16 + leaf * dy;
  const edges = [], nodes = [];
  const base = run.c.score[run.seed], reach = Math.abs(run.c.score[run.best] - base) || 1;
  const shade = (/** @type {number} */ row) => run.c.score[row] === null ? null : { fill: scoreColor(Math.min(1, Math.max(0, gain(run.direction, run.c.score[row], base) / reach))) };
  for (const [row, p] of at) {
    const parent = at.get(run.rows.get(run.c.parents[row][0]) ?? -1);
    if (parent) edges.push(h("path", { class: best.has(row) ? "edge best" : "edge", d: `M${left + parent.x * dx},${8 + parent.y * dy} C${left + parent.x * dx + bend},${8 + parent.y * dy} ${left + p.x * dx - bend},${8 + p.y * dy} ${left + p.x * dx},${8 + p.y * dy}` }));
    nodes.push(h("circle", { class: `node${best.has(row) ? " best" : ""}${run.c.score[row] === null ? " fail" : ""}`, cx: left + p.x * dx, cy: 8 + p.y * dy, r: best.has(row) ? dot + 1.4 : dot, css: shade(row) || {}, on: { click: () => { location.hash = link(`candidate/${run.name(row)}`); } } },
      h("title", {}, `${run.name(row)} · ${run.summary.titles[run.name(row)] ? `${run.summary.titles[run.name(row)]} · ` : ""}${run.c.score[row] === null ? run.c.status[row] : score(run.c.score[row])} · ${run.c.origin[row]}`)));
  }
  const path = run.path(run.best);
  let reached = /** @type {number | null} */ (null);
  const steps = path.map((/** @type {number} */ row, /** @type {number} */ at) => {
    const before = reached;
    const value = run.c.score[row];
    const isBetter = value !== null && (before === null || run.better(value, before));
    if (value !== null) reached = value;
    return h("li", { class: isBetter ? "better" : "" }, h("a", { href: link(`candidate/${run.name(row)}`) }, run.name(row)), ` ${score(value)} · ${run.title(row) || run.c.origin[row]}`, before !== null && value !== null ? h("span", { class: isBetter ? "good" : "note" }, ` ${gainText(run.direction, value, before)}`) : null,
      run.c.parents[row].length > 1 ? h("span", { class: "note" }, ` with ${run.c.parents[row].slice(1).join(", ")}`) : null, at ? change(run, path[at - 1], row) : null);
  });
  return [h("h1", {}, "Lineage"),
    h("div", { class: "row" }, button(isWhole ? "Show only what led to elites" : "Show all candidates", () => remember({ all: isWhole ? "" : "1" })), h("span", { class: "note" }, `${plural(rows.length, "candidate")} of ${count(run.count)}; a line goes from the first parent to its child; the way to the best has large dots; a click on a dot opens its program with prompt, reply and result.`)),
    card("Tree", h("p", { class: "legend" }, [0, 0.5, 1].map((share) => h("span", {}, h("i", { css: { background: scoreColor(share) } }), `${score(Number((base + share * (run.c.score[run.best] - base)).toPrecision(6)))}${share === 0 ? ", the seed, or worse" : share === 1 ? ", the best" : ""}`)), h("span", {}, h("i", { css: { background: "var(--s2)" } }), "failed")),
      h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "tree of programs; the list below has the way to the best" }, h("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `tree of ${rows.length} programs` }, edges, nodes))),
    card("The way to the best", h("p", { class: "note" }, "Each step with its gain on the step before. A filled dot made the score better."), h("ol", { class: "path" }, steps)),
    ideas(run, link)];
}

/** The difference between a candidate and its first parent, read when it is opened. @param {any} run @param {number} parent @param {number} row */
function change(run, parent, row) {
  const details = h("details", {}, h("summary", {}, "what changed"));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.children.length > 1) return;
    try {
      const [before, after] = await Promise.all([parent, row].map((at) => ask("/api/candidate", { run: run.id, id: run.name(at) })));
      details.append(run.c.status[row] === "rejected" ? h("p", { class: "note" }, NO_PROGRAM) : difference(...inOneLayout(before, after)));
    } catch (problem) { details.append(h("p", { class: "note" }, /** @type {Error} */ (problem).message)); }
  });
  return details;
}

/** Trees of ideas with their experiments, and the long-term memory; other strategies' latest notes. @param {any} run @param {(view: string) => string} link */
function ideas(run, link) {
  const notes = Object.entries(run.summary.notes);
  if (!notes.length) return null;
  const holder = h("div", {});
  const pre = (/** @type {string} */ kind, /** @type {string} */ text) => h("details", { open: kind.includes("memory") }, h("summary", {}, kind), h("pre", { tabindex: "0" }, text));
  const idea = (/** @type {any} */ branch) => h("li", { class: branch.verdict === "better" ? "better" : "", css: { "margin-left": `${24 * (branch.depth - 1)}px` } }, h("strong", {}, branch.title), ` ${branch.outcome} `,
    branch.candidate ? h("a", { href: link(`candidate/${branch.candidate}`) }, branch.candidate) : null, h("span", { class: "note" }, ` ${branch.verdict}`), branch.report ? h("p", {}, branch.report) : null,
    h("details", {}, h("summary", {}, branch.steps.length ? `idea and ${plural(branch.steps.length, "experiment")}` : "idea"), h("p", {}, branch.idea), branch.steps.length ? h("ol", {}, branch.steps.map((/** @type {string} */ step) => h("li", {}, step))) : null));
  ask("/api/ideas", { run: run.id }).then(({ research }) => fill(holder, research ? [
    research.actions.length ? table([["action"], ["rounds", true], ["programs", true], ["tokens", true], ["gain", true], ["gain per 1,000 tokens", true], ["index", true]], research.actions.map((/** @type {any} */ row) => [row.action, count(row.rounds), count(row.programs), count(row.tokens), score(row.gain), row.tokens ? score(Number((1000 * row.gain / row.tokens).toPrecision(3))) : "no tokens", row.index === null ? "" : score(Number(row.index.toPrecision(3)))])) : null,
    research.actions.length ? h("p", { class: "note" }, "The index is an upper bound of an action's gain per token, as a share of the best action's, over the latest rounds. The action with the highest index comes next, if it is possible: a sweep needs declared numbers that were not swept, a crossover a second program.") : null,
    !research.ideas ? null : h("p", {}, `${plural(research.ideas, "idea")} tried, ${research.better} of them better than what they started from${research.untried ? `; ${research.untried} more not tried` : ""}.`),
    research.memory ? pre("long-term memory", research.memory) : null,
    research.trees.map((/** @type {any} */ tree, /** @type {number} */ at) => h("details", { open: !at }, h("summary", {}, `Round ${tree.round}, from ${tree.start}: ${plural(tree.branches.length, "idea")}`), h("ol", { class: "path" }, tree.branches.map(idea)))),
    research.left_out ? h("p", { class: "note" }, `${plural(research.left_out, "older round")} left out.`) : null]
    : [h("p", { class: "note" }, "Latest note of each kind that the strategy wrote."), notes.map(([kind, text]) => pre(kind, /** @type {string} */ (text)))]),
  (problem) => fill(holder, h("p", { class: "error" }, problem.message)));
  return card("Ideas and memory", holder);
}

/** @param {any} run @param {(view: string) => string} link @param {URLSearchParams} query @param {(query: Record<string, string>) => void} remember */
export function archive(run, link, query, remember) {
  const axes = run.summary.axes;
  if (!axes.length || !run.c.features.some((/** @type {any} */ _, /** @type {number} */ row) => run.cell(row))) return [h("h1", {}, "Archive"), rankedPopulation(run, link), elites(run, link)];
  let [x, y] = [Number(query.get("x") || 0), Number(query.get("y") || Math.min(1, axes.length - 1))];
  const islands = [...new Set(/** @type {number[]} */ (run.c.island).filter((island) => island >= 0))].sort((a, b) => a - b);
  const holder = h("div", {});
  const facts = h("div", { class: "tiles" });
  const slider = h("input", { type: "range", min: 1, max: run.count, value: run.count, css: { flex: "1 1 200px" }, "aria-label": "Show the archive after so many candidates", on: { input: () => draw() } });
  const moment = h("span", { class: "note", role: "status" });
  const bins = (/** @type {number} */ axis) => {
    if (run.summary.grid?.measured[axis]) return run.summary.grid.bins[axis];
    const used = run.c.features.filter(Boolean).map((/** @type {number[]} */ cell) => cell[axis]).filter(Number.isFinite);
    return Math.min(60, Math.max(axes[axis].bins, ...new Set(used.map((/** @type {number} */ value) => Math.min(59, value + 1)))));
  };
  const [columns, lines] = [bins(x), x === y ? 1 : bins(y)];
  function draw() {
    const end = Number(slider.value);
    const maps = islands.slice(0, 12).map((island) => ({ island, cells: run.archive(island, end, x === y ? [x] : [x, y]) }));
    const values = maps.flatMap((map) => [...map.cells.values()].map((row) => run.c.score[row])).sort((a, b) => gain(run.direction, a, b)).reverse();
    const best = values[0], middle = values[Math.floor(values.length / 2)];
    const reach = Math.max(2 * Math.abs(gain(run.direction, best, middle)), Math.abs(best) * 1e-6, 1e-12);
    const share = (/** @type {number} */ value) => Math.max(0, 1 - Math.abs(gain(run.direction, best, value)) / reach);
    holder.replaceChildren(h("div", { class: "grid" }, maps.map((map) => card(islands.length > 1 ? `Island ${map.island}` : "",
      heatMap({ columns, rows: lines, x: `${axes[x].name} (bin)`, y: x === y ? "" : `${axes[y].name} (bin)`, label: `Archive of island ${map.island}: ${plural(map.cells.size, "cell")} filled`,
        cells: new Map([...map.cells].map(([key, row]) => [x === y ? `${key},0` : key, { share: share(run.c.score[row]), best: run.c.score[row] === best, text: `${run.name(row)}: ${score(run.c.score[row])} (cell ${key})`, open: () => { location.hash = link(`candidate/${run.name(row)}`); } }])) })))));
    const all = run.archive(-1, end, axes.map((/** @type {any} */ _, /** @type {number} */ at) => at));
    const cells = axes.reduce((/** @type {number} */ product, /** @type {any} */ axis) => product * axis.bins, 1);
    const base = run.c.score[run.seed];
    const quality = [...all.values()].reduce((sum, row) => sum + Math.max(0, gain(run.direction, run.c.score[row], base)), 0);
    facts.replaceChildren(tile("coverage, all islands", percent(all.size / cells), `${count(all.size)} of ${plural(cells, "cell")}`), tile("QD score", score(quality), "sum over cells of the gain on the seed, at least 0"), tile("best", score(best), "framed"));
    moment.textContent = `after ${count(end)} of ${plural(run.count, "candidate")}`;
  }
  draw();
  const options = /** @type {[string, string][]} */ (axes.map((/** @type {any} */ axis, /** @type {number} */ at) => [String(at), axis.name]));
  let playing = 0;
  const play = button("Play", () => {
    if (playing) { clearInterval(playing); playing = 0; play.textContent = "Play"; return; }
    if (Number(slider.value) >= run.count) slider.value = "1";
    play.textContent = "Stop";
    playing = setInterval(() => {
      slider.value = String(Math.min(run.count, Number(slider.value) + Math.max(1, Math.round(run.count / 60))));
      draw();
      if (Number(slider.value) >= run.count || !play.isConnected) play.click();
    }, 120);
  });
  return [h("h1", {}, "Archive"), facts,
    h("div", { class: "row" }, choose("across", options, String(x), (value) => remember({ x: value, y: String(y) })), choose("up", options, String(y), (value) => remember({ x: String(x), y: value })), play, slider, moment), holder,
    card("How to read it", h("p", { class: "note" }, "Each square is a cell with its best program so far; dark (light in the dark theme) is good; the best is framed; click opens it. Programs are shown on the island where they were found: migration and resets are not drawn."), table([["feature"], ["bins", true], ["from, to"], ["meaning"]], axes.map((/** @type {any} */ axis, /** @type {number} */ at) => [axis.name, count(axis.bins), run.summary.grid?.bounds[at]?.map(score).join(", ") ?? "bins of the evaluator", axis.meaning]))),
    elites(run, link)];
}

/** Islands and elites as the search holds them, with migrations and resets. @param {any} run @param {(view: string) => string} link */
function elites(run, link) {
  const holder = h("div", {}, h("p", { class: "note" }, "Replaying the archive …"));
  const anchor = (/** @type {string} */ id) => h("a", { href: link(`candidate/${id}`) }, id);
  ask("/api/elites", { run: run.id }).then((found) => fill(holder,
    table([["island"], ["elites", true], ["coverage", true], ["best score", true], ["by candidate"]], found.islands.map((/** @type {any} */ island, /** @type {number} */ at) => [at, count(island.elites), found.cells ? percent(island.elites / found.cells) : "–", island.best ? score(run.c.score[run.rows.get(island.best)]) : "–", island.best ? anchor(island.best) : "–"])),
    h("details", {}, h("summary", {}, `Elites${found.left_out ? `: the best ${found.rows.length}, ${plural(found.left_out, "more elite")} left out` : ""}`),
      table([["candidate"], ["score", true], ["against the seed", true], ["islands"], ["cell"], ["nodes", true], ["made by"]], found.rows.map((/** @type {any} */ row) => [anchor(row.id), score(row.score), row.change, row.islands, row.cell, row.size, row.origin])))),
  (problem) => fill(holder, h("p", { class: "note" }, problem.message)));
  return card("Islands with migrations and resets", holder);
}

/** @param {any} run @param {(view: string) => string} link */
function rankedPopulation(run, link) {
  const met = new Set();
  const rows = [...Array(run.count).keys()].filter((row) => run.c.placed[row] !== "").sort((a, b) => gain(run.direction, run.c.score[b], run.c.score[a])).filter((row) => { const key = `${run.c.score[row]},${run.c.size[row]}`; if (met.has(key)) return false; met.add(key); return true; }).slice(0, 40);
  return card("Ranked population", h("p", { class: "note" }, "This problem has no features: an island keeps its best programs. The 40 best of all islands:"),
    table([["rank", true], ["candidate"], ["score", true], ["on the seed", true], ["island", true], ["made by"]], rows.map((row, at) => [at + 1, h("a", { href: link(`candidate/${run.name(row)}`) }, run.name(row)), score(run.c.score[row]), gainText(run.direction, run.c.score[row], run.c.score[run.seed]), run.c.island[row], run.c.origin[row]])));
}
