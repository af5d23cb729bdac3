import { button, card, h, table } from "./dom.js";
import { cssColor, lineChart } from "./charts.js";
import { convergence } from "./overview.js";
import { ask, Run } from "./data.js";
import { count, duration, gain, gainText, money, plural, score } from "./format.js";

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
    card("Runs", candidates.length ? [h("div", { class: "row" }, groupsOf, chosen.length ? button("none", () => remember({ with: "" })) : null), h("div", { class: "row" }, boxes)] : h("p", { class: "note" }, "There is no other search below this folder."), h("p", { class: "note" }, "Runs of the same strategy and model share a curve: median, and quartiles from three runs on. Curves show the first 20 runs of this problem.")),
    card("Best so far", lineChart({ x: "candidates", y: "score", data, series, label: `Curves of ${plural(loaded.length, "run")}`, lines: [{ value: run.c.score[run.seed], label: "seed" }] })),
    card("Results", h("div", { class: "row" }, h("label", {}, "Cost to reach", field)), table([["run"], ["strategy"], ["best", true], ["on the seed", true], ["candidates", true], ["time", true], ["money", true], ["candidates to target", true]], loaded.sort((a, b) => gain(run.direction, b.c.score[b.best], a.c.score[a.best])).map((item) => { const row = reach(item); const sum = (/** @type {"money" | "unpriced"} */ key) => item.summary.calls.reduce((/** @type {number} */ total, /** @type {any} */ group) => total + group[key], 0); return [h("a", { href: `#/run/${encodeURIComponent(item.id)}` }, item.id), kind(item), score(item.c.score[item.best]), gainText(run.direction, item.c.score[item.best], item.c.score[item.seed]), count(item.count), duration(item.summary.spent.seconds), money(sum("money"), sum("unpriced")), row === undefined ? "not reached" : `${count(row)} (${duration(item.c.at[row])})`]; })))];
}
