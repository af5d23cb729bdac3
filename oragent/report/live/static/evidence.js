import { bars, button, card, command, h, table, tile } from "./dom.js";
import { cssColor, lineChart } from "./charts.js";
import { callView } from "./candidates.js";
import { convergence } from "./overview.js";
import { ask, Run } from "./data.js";
import { count, duration, gain, gainText, money, percent, plural, score } from "./format.js";

/** @param {any} run */
export async function model(run) {
  const groups = run.summary.calls;
  if (!groups.length) return [h("h1", {}, "Model"), h("p", { class: "empty" }, `No model was asked: strategy ${run.summary.strategy || "unknown"} breeds programs by itself.`)];
  const sum = (/** @type {string} */ name) => groups.reduce((/** @type {number} */ total, /** @type {any} */ group) => total + group[name], 0);
  const fromModel = [...Array(run.count).keys()].filter((row) => run.c.key[row]);
  const answered = new Set(fromModel.map((row) => run.c.key[row])).size;
  const rejected = fromModel.filter((row) => run.c.status[row] === "rejected").length;
  const failed = fromModel.filter((row) => run.c.score[row] === null).length;
  const list = h("div", {});
  const shown = h("div", {});
  let after = 0;
  const more = button("Show more calls", () => void load());
  async function load() {
    const calls = await ask("/api/calls", { run: run.id, after });
    if (calls.length) after = calls[calls.length - 1].position;
    if (calls.length < 500) more.hidden = true;
    list.append(table([["call"], ["role"], ["model"], ["tokens in", true], ["out", true], ["money", true], ["seconds", true]], calls.map((/** @type {any} */ call) => [button(call.key, async () => { shown.replaceChildren(...(await ask("/api/call", { run: run.id, key: call.key })).map(callView)); shown.scrollIntoView({ block: "nearest" }); }), call.role, call.model, count(call.tokens_in), count(call.tokens_out), call.money === null ? "–" : money(call.money), duration(call.seconds)])));
  }
  await load();
  const top = Math.max(...groups.map((/** @type {any} */ group) => group.calls));
  return [h("h1", {}, "Model"),
    h("div", { class: "tiles" }, tile("calls", count(sum("calls")), `${count(answered)} replies led to candidates`), tile("tokens in, out", `${count(sum("tokens_in"))}, ${count(sum("tokens_out"))}`, sum("tokens_in") ? `${percent(sum("tokens_cached") / sum("tokens_in"))} of the prompt tokens were cached` : ""), tile("money", money(sum("money"), sum("unpriced"))), tile("waiting", duration(sum("seconds")), `${score(Number((sum("seconds") / sum("calls")).toPrecision(3)))} s for a call; ${plural(sum("retries"), "failed attempt")}`), tile("unusable replies", count(rejected), `${count(failed)} of ${plural(fromModel.length, "candidate")} from replies have no score`)),
    card("By role", table([["role"], ["model"], ["calls", true], ["tokens in", true], ["cached", true], ["out", true], ["money", true], ["seconds for a call", true], ["failed attempts", true]], groups.map((/** @type {any} */ group) => [group.role, group.model, count(group.calls), count(group.tokens_in), count(group.tokens_cached), count(group.tokens_out), money(group.money, group.unpriced), score(Number((group.seconds / group.calls).toPrecision(3))), count(group.retries)])),
      bars(groups.map((/** @type {any} */ group) => ({ name: group.role, text: count(group.calls), parts: [{ value: group.calls, color: "var(--s1)", title: plural(group.calls, "call") }] })), top)),
    Object.keys(run.summary.notes).length ? card("Memory", Object.entries(run.summary.notes).map(([kind, text]) => h("details", {}, h("summary", {}, kind), h("pre", {}, /** @type {string} */ (text))))) : null,
    card("Calls", list, more, shown)];
}

/** A score with its interval as a line of text. @param {any} side */
function withInterval(side) { return side.interval ? `${score(side.score)} (${score(side.interval[0])} to ${score(side.interval[1])})` : score(side.score); }

/** @param {any} run @param {(view: string) => string} link */
export async function trust(run, link) {
  const found = await ask("/api/trust", { run: run.id });
  const missing = ["test", "fresh"].filter((name) => !found.sets.some((/** @type {any} */ set) => set.name === name));
  const report = `oragent report ${run.summary.command.replace("oragent resume ", "")}`;
  return [h("h1", {}, "Is the result real?"),
    found.problem ? h("p", { class: "error" }, found.problem) : null,
    card("Evidence", found.sentences.length ? h("ul", {}, found.sentences.map((/** @type {string} */ text) => h("li", {}, text))) : h("p", { class: "note" }, "No audit and no held-out score is stored yet."),
      found.audits ? h("p", {}, "Audits during the run: ", found.audits, ".") : null, found.final ? h("p", {}, found.final) : null,
      missing.length ? [h("p", { class: "note" }, `Not measured yet: ${missing.join(" and ")}. This command scores seed and best on sets that the search never read:`), command(`${report} --test`)] : null),
    found.sets.length ? card("Seed and best on each set", table([["set"], ["seed", true], ["best", true], ["gain", true], ["instance by instance"]], found.sets.map((/** @type {any} */ set) => [set.name, withInterval(set.seed), withInterval(set.best), gainText(run.direction, set.best.score, set.seed.score), set.pair ? `${set.pair.counts}; ${set.pair.verdict}` : "–"])), h("p", { class: "note" }, "In parentheses: 95 % interval over instances. val is read by the search; test is held out; fresh was drawn after the run.")) : null,
    h("div", { class: "grid" },
      card("Time of the heuristic", Object.keys(found.times || {}).length ? table([["metric of the best"], ["value", true]], Object.entries(found.times).map(([name, value]) => [name, typeof value === "number" ? score(value) : String(value)])) : h("p", { class: "note" }, "The evaluator prints no times."), h("h3", {}, "Limits of the run"), Object.keys(found.limits || {}).length ? table([["limit"], ["value", true]], Object.entries(found.limits).map(([name, value]) => [name, String(value)])) : h("p", { class: "note" }, "Defaults of the problem.")),
      card("Isolation", h("p", {}, "Each candidate runs in its own process; another process checks and scores its solutions. ", h("code", {}, "oragent doctor"), " shows what this machine can isolate."), run.summary.remarks.length ? h("ul", {}, run.summary.remarks.map((/** @type {string} */ text) => h("li", {}, text))) : null)),
    card("Do it again", h("p", { class: "note" }, "The score of the best program:"), command(`oragent eval ${run.summary.problem} ${run.summary.command.replace("oragent resume ", "")}/best.py`), h("p", {}, h("a", { href: link(`candidate/${run.name(run.best)}`) }, "Read the best program")))];
}

/** @param {any} run @param {(view: string) => string} link */
export async function solutions(run, link) {
  const found = await ask("/api/trust", { run: run.id });
  const path = run.summary.command.replace("oragent resume ", "");
  return [h("h1", {}, "Solutions"),
    found.pictures?.length ? h("div", { class: "grid" }, found.pictures.map((/** @type {any} */ picture) => card("", h("figure", {}, h("img", { src: picture.address, alt: picture.caption }), h("figcaption", { class: "note" }, picture.caption)))))
      : card("", h("p", {}, "No pictures are stored for the best program. If the problem's evaluator can draw, this command lets it draw what the best program does, with the seed for comparison:"), command(`oragent report ${path} --pictures`)),
    h("p", { class: "note" }, "Pictures are drawn by the problem's own evaluator. ", h("a", { href: link(`candidate/${run.name(run.best)}`) }, "The best program"), ".")];
}

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
    try { await other.update(); if (other.summary.problem !== run.summary.problem) problems.push(`${id} is a run of ${other.summary.problem}`); else if (other.best >= 0) loaded.push(other); } catch (problem) { problems.push(`${id}: ${/** @type {Error} */ (problem).message}`); }
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
  return [h("h1", {}, "Compare"), problems.map((text) => h("p", { class: "error" }, text)),
    card("Runs", candidates.length ? h("div", { class: "row" }, boxes) : h("p", { class: "note" }, "There is no other search below this folder."), h("p", { class: "note" }, "Runs of the same strategy and model share a curve: median, and quartiles from three runs on. Tests between strategies (ranks, critical differences) are on the page of oragent compare.")),
    card("Best so far", lineChart({ x: "candidates", y: "score", data, series, label: `Curves of ${plural(loaded.length, "run")}`, lines: [{ value: run.c.score[run.seed], label: "seed" }] })),
    card("Results", h("div", { class: "row" }, h("label", {}, "Cost to reach", field)), table([["run"], ["strategy"], ["best", true], ["on the seed", true], ["candidates", true], ["time", true], ["money", true], ["candidates to target", true]], loaded.sort((a, b) => gain(run.direction, b.c.score[b.best], a.c.score[a.best])).map((item) => { const row = reach(item); const dollars = item.summary.calls.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.money, 0); return [h("a", { href: `#/run/${encodeURIComponent(item.id)}` }, item.id), kind(item), score(item.c.score[item.best]), gainText(run.direction, item.c.score[item.best], item.c.score[item.seed]), count(item.count), duration(item.summary.spent.seconds), money(dollars), row === undefined ? "not reached" : `${count(row)} (${duration(item.c.at[row])})`]; })))];
}
