import { button, card, fill, h, table } from "./dom.js";
import { cssColor, lineChart } from "./charts.js";
import { convergence } from "./overview.js";
import { ask, Run } from "./data.js";
import { count, duration, gain, gainText, money, percent, plural, score } from "./format.js";

/** Curve of the best score at common positions. @param {any} run @param {number[]} grid */
function curveAt(run, grid) {
  const [xs, , best] = convergence(run, "row");
  let at = -1;
  return grid.map((position) => { while (at + 1 < xs.length && /** @type {number} */ (xs[at + 1]) <= position) at += 1; return at < 0 ? null : best[at]; });
}

/** @param {number[]} values @param {number} share */
function quantile(values, share) { const sorted = [...values].sort((a, b) => a - b); const at = share * (sorted.length - 1); const low = Math.floor(at); return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]); }

/** Compare runs of one problem. @param {any} run @param {any[]} runs @param {URLSearchParams} query @param {(query: Record<string, string>) => void} remember */
export async function compare(run, runs, query, remember) {
  const chosen = (query.get("with") || "").split(",").filter(Boolean);
  const candidates = runs.filter((item) => item.kind === "search" && item.id !== run.id).slice(0, 200);
  const boxes = candidates.map((item) => h("label", {}, h("input", { type: "checkbox", checked: chosen.includes(item.id), on: { change: (/** @type {any} */ event) => remember({ with: (event.target.checked ? [...chosen, item.id] : chosen.filter((id) => id !== item.id)).join(",") }) } }), item.id));
  /** @type {any[]} */ const loaded = [run];
  /** @type {string[]} */ const problems = [];
  for (const id of chosen.slice(0, 20)) {
    const other = new Run(id);
    try { await other.update(); if (other.summary.problem === run.summary.problem && other.best >= 0) loaded.push(other); } catch (problem) { problems.push(`${id}: ${/** @type {Error} */ (problem).message}`); }
  }
  const length = Math.max(...loaded.map((item) => item.count));
  const grid = Array.from({ length: 200 }, (_, at) => Math.round((at * (length - 1)) / 199));
  const kind = (/** @type {any} */ item) => `${item.summary.strategy || "auto"}${item.summary.model ? ` with ${item.summary.model}` : ""}`;
  const groups = [...new Set(loaded.map(kind))];
  const colors = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6"].map(cssColor);
  /** @type {any[]} */ const data = [grid];
  /** @type {any[]} */ const series = [];
  groups.forEach((name, at) => {
    const curves = loaded.filter((item) => kind(item) === name).map((item) => curveAt(item, grid));
    const over = (/** @type {number} */ share) => grid.map((_, position) => { const values = curves.map((curve) => curve[position]).filter((value) => value !== null); return values.length ? quantile(/** @type {number[]} */ (values), share) : null; });
    const color = colors[at % colors.length];
    if (curves.length > 2) { data.push(over(0.75), over(0.25)); series.push({ label: `${name}, upper quartile`, color, width: 0.5, band: true }, { label: `${name}, lower quartile`, color, width: 0.5 }); }
    data.push(over(0.5));
    series.push({ label: `${name} (${plural(curves.length, "run")})`, color, step: true });
  });
  const target = Number(query.get("target") ?? run.c.score[run.best]);
  const reach = (/** @type {any} */ item) => item.improvements.find((/** @type {number} */ row) => gain(run.direction, item.c.score[row], target) >= 0);
  const field = h("input", { type: "number", step: "any", value: target, "aria-label": "Target score", on: { change: () => remember({ target: field.value }) } });
  /** @type {Map<string, string[]>} */ const below = new Map();
  for (const item of candidates) item.id.split("/").slice(0, -1).forEach((/** @type {string} */ _, /** @type {number} */ at, /** @type {string[]} */ parts) => { const path = parts.slice(0, at + 1).join("/"); below.set(path, [...(below.get(path) || []), item.id]); });
  const parents = [...below].filter(([, ids]) => ids.length > 1).slice(0, 12);
  const groupsOf = parents.map(([path, ids]) => button(`all of ${path}`, () => remember({ with: ids.join(",") })));
  return [h("h1", {}, "Compare"), problems.map((text) => h("p", { class: "error" }, text)),
    card("Runs", candidates.length ? [h("div", { class: "row" }, groupsOf, chosen.length ? button("none", () => remember({ with: "" })) : null), h("div", { class: "row" }, boxes)] : h("p", { class: "note" }, "There is no other search below this folder."), h("p", { class: "note" }, "Runs of the same strategy and model share a curve: median, and quartiles from three runs on. Curves show the first 20 runs of this problem; runs of other problems count in the ranks.")),
    card("Best so far", lineChart({ x: "candidates", y: "score", data, series, label: `Curves of ${plural(loaded.length, "run")}`, lines: [{ value: run.c.score[run.seed], label: "seed" }] })),
    ranking([run.id, ...chosen]),
    card("Results", h("div", { class: "row" }, h("label", {}, "Cost to reach", field)), table([["run"], ["strategy"], ["best", true], ["on the seed", true], ["candidates", true], ["time", true], ["money", true], ["candidates to target", true]], loaded.sort((a, b) => gain(run.direction, b.c.score[b.best], a.c.score[a.best])).map((item) => { const row = reach(item); const sum = (/** @type {"money" | "unpriced"} */ key) => item.summary.calls.reduce((/** @type {number} */ total, /** @type {any} */ group) => total + group[key], 0); return [h("a", { href: `#/run/${encodeURIComponent(item.id)}` }, item.id), kind(item), score(item.c.score[item.best]), gainText(run.direction, item.c.score[item.best], item.c.score[item.seed]), count(item.count), duration(item.summary.spent.seconds), money(sum("money"), sum("unpriced")), row === undefined ? "not reached" : `${count(row)} (${duration(item.c.at[row])})`]; })))];
}

/** Mean ranks with a critical-difference diagram, and paired tests. @param {string[]} ids */
function ranking(ids) {
  const holder = h("div", {}, h("p", { class: "note" }, "Ranking …"));
  ask("/api/ranks", { runs: ids.join("\n") }).then((found) => {
    const names = Object.keys(found.ranks);
    fill(holder, names.length < 2 ? h("p", { class: "note" }, "Choose runs of at least two strategies or models that share a problem and a seed.") : [
      h("p", {}, `Mean ranks over ${plural(found.blocks, "block")} of problem and seed; 1 is best.`, found.critical_difference === null ? "" : ` Two strategies differ at 5 % if their ranks are more than ${score(Number(found.critical_difference.toPrecision(3)))} apart (Nemenyi test); a bar joins those that are not.`),
      rankDiagram(found.ranks, found.critical_difference),
      table([["first"], ["second"], ["mean gain of the first", true], ["p, all pairs", true]], found.pairs.map((/** @type {any} */ pair) => [pair.first, pair.second, `${percent(pair.gain)} of the seed`, pair.p === null ? "–" : pair.p.toPrecision(2)])),
      h("p", { class: "note" }, `Sign-flip test of the gains, paired by problem and seed, adjusted for all pairs (Holm).${found.remark ? ` Note: ${found.remark}.` : ""}`)]);
  }, (problem) => fill(holder, h("p", { class: "error" }, problem.message)));
  return card("Ranks", holder);
}

/** A critical-difference diagram (Demšar 2006). @param {Record<string, number>} ranks best first @param {number | null} distance */
function rankDiagram(ranks, distance) {
  const names = Object.keys(ranks), values = Object.values(ranks), number = names.length;
  const left = 190, width = 620, line = 30, x = (/** @type {number} */ rank) => left + ((rank - 1) / Math.max(1, number - 1)) * (width - 2 * left);
  /** @type {number[][]} */ const cliques = [];
  if (distance !== null) values.forEach((rank, first) => {
    let last = first;
    while (last + 1 < number && values[last + 1] - rank <= distance) last += 1;
    if (last > first && !cliques.some((clique) => clique[0] <= first && clique[1] >= last)) cliques.push([first, last]);
  });
  const top = line + 14 + 9 * cliques.length, half = Math.ceil(number / 2);
  const height = top + 18 * half + 12;
  const stroke = { stroke: "var(--ink)", "stroke-width": 1.2, fill: "none" };
  const label = (/** @type {number} */ at) => {
    const isLeft = at < half, y = top + 18 * (isLeft ? at : number - 1 - at) + 4, side = isLeft ? left - 8 : width - left + 8;
    return [h("path", { ...stroke, d: `M${x(values[at])},${line} V${y} H${side}` }), h("text", { x: isLeft ? side - 4 : side + 4, y: y + 4, "text-anchor": isLeft ? "end" : "start" }, `${names[at].slice(0, 24)} ${values[at].toFixed(2)}`)];
  };
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "diagram of mean ranks" }, h("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Mean ranks: ${names.map((name, at) => `${name} ${values[at].toFixed(2)}`).join(", ")}` },
    h("path", { ...stroke, d: `M${x(1)},${line} H${x(number)}` }),
    Array.from({ length: number }, (_, at) => [h("path", { ...stroke, d: `M${x(at + 1)},${line} v-6` }), h("text", { x: x(at + 1), y: line - 10, "text-anchor": "middle" }, String(at + 1))]),
    names.map((_, at) => label(at)),
    cliques.map(([first, last], at) => h("path", { stroke: "var(--accent)", "stroke-width": 4, d: `M${x(values[first]) - 4},${line + 9 + 9 * at} H${x(values[last]) + 4}` }))));
}
