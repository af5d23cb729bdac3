import { bars, button, card, command, h, table, tile } from "./dom.js";
import { cssColor, lineChart } from "./charts.js";
import { count, duration, gain, gainText, money, percent, plural, poissonInterval, score } from "./format.js";

const OUTCOMES = [["N", "took an empty cell", "--s1"], ["I", "took a worse program's cell", "--s6"], ["-", "not kept", "--line"], ["", "failed", "--s2"]];

/** Limits of scores that bad candidates do not stretch. @param {any} run @returns {[number, number]} */
export function scoreLimits(run) {
  const c = run.c;
  const values = c.score.filter((/** @type {any} */ value, /** @type {number} */ row) => value !== null && c.placed[row] !== "" && Number.isFinite(value)).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  const sign = run.direction === "minimize" ? 1 : -1;
  const best = c.score[run.best], seed = c.score[run.seed];
  const spread = Math.abs(seed - best) || Math.abs(values[Math.floor(values.length * 0.75)] - values[Math.floor(values.length * 0.25)]) || Math.abs(best) * 0.02 || 1;
  const worst = sign > 0 ? values[Math.floor(values.length * 0.9)] : values[Math.floor(values.length * 0.1)];
  const far = sign * Math.max(sign * seed, Math.min(sign * worst, sign * seed + 0.35 * spread));
  const [low, high] = [Math.min(best, far), Math.max(best, far)];
  return [low - 0.08 * spread, high + 0.08 * spread];
}

/** @param {any} run @param {"at" | "row" | "calls" | "money"} axis */
export function convergence(run, axis) {
  const c = run.c;
  const rows = [];
  for (let row = 0; row < run.count; row += 1) if (c.score[row] !== null && c.placed[row] !== "" && c.origin[row] !== "probe") rows.push(row);
  if (axis === "at") rows.sort((a, b) => c.at[a] - c.at[b]);
  const stride = Math.max(1, Math.ceil(rows.length / 4000));
  /** @type {(number | null)[][]} */ const data = [[], [], []];
  let best = /** @type {number | null} */ (null);
  const calls = new Set(), rounds = new Set();
  let dollars = 0;
  rows.forEach((row, at) => {
    const improves = run.better(c.score[row], best);
    if (improves) best = c.score[row];
    if (axis === "calls" && c.key[row]) calls.add(c.key[row]);
    if (axis === "money" && !rounds.has(c.round[row])) { rounds.add(c.round[row]); dollars += c.money[row]; }
    if (!improves && at % stride && at !== rows.length - 1) return;
    data[0].push(axis === "at" ? c.at[row] / 60 : axis === "calls" ? calls.size : axis === "money" ? dollars : row);
    data[1].push(c.score[row]);
    data[2].push(best);
  });
  return data;
}

/** The answer to "would another hour pay?". @param {any} run */
export function verdict(run) {
  const c = run.c, rows = run.improvements;
  const total = run.count - run.probes;
  const window = Math.max(30, Math.round(total / 3));
  const latest = rows.filter((/** @type {number} */ row) => row > run.seed && row >= run.count - window);
  const [low, high] = poissonInterval(latest.length);
  const before = [...rows].reverse().find((/** @type {number} */ row) => row < run.count - window) ?? run.seed;
  const won = gain(run.direction, c.score[run.best], c.score[before]);
  const base = Math.abs(c.score[run.seed]) || 1;
  const seconds = Math.max(...c.at.slice(-window)) - Math.min(...c.at.slice(-window)) || 0;
  const horizon = Math.min(3600, run.summary.spent.seconds); // nobody knows what comes after many times what was seen
  const coming = seconds > 5 ? (Math.min(window, total) / seconds) * horizon : null;
  const seen = plural(Math.min(window, total), "candidate");
  const share = `${plural(latest.length, "improvement")} in the latest ${seen}, together ${percent(won / base)} of the seed's score.`;
  const head = latest.length === 0 ? `No improvement in the latest ${seen}.` : total < 30 ? share : `Still gaining: ${share}`;
  const scaled = (/** @type {number} */ number) => score(Number(((number * (coming ?? 0)) / window).toPrecision(2)));
  const tail = coming === null || total < 30
    ? "Too early to say whether more time pays."
    : `At this speed another ${horizon === 3600 ? "hour" : duration(horizon)} brings ${plural(coming, "candidate")} and ${scaled(low)} to ${scaled(high)} improvements (95 % interval, if the rate stays).`;
  return { head, tail, gaining: latest.length > 0 };
}

/** @param {any} run @param {(view: string) => string} link */
export function overview(run, link) {
  const s = run.summary, c = run.c;
  if (run.best < 0) return [h("h1", {}, s.title), card("", h("p", { class: "empty" }, `No candidate has a score yet; ${plural(s.evaluations, "evaluation")} stored. ${s.end}`), h("h3", {}, "To continue"), command(s.command))];
  const best = c.score[run.best], seed = c.score[run.seed];
  const calls = s.calls.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.calls, 0);
  const dollars = s.calls.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.money, 0);
  const unpriced = s.calls.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.unpriced, 0);
  const words = verdict(run);
  const scored = c.score.filter((/** @type {any} */ value) => value !== null).length;
  const uncommitted = Math.max(0, s.evaluations - run.count);
  return [
    h("h1", {}, s.title),
    h("div", { class: "tiles" },
      tile(`best score, ${s.direction === "minimize" ? "lower" : "higher"} is better`, h("a", { href: link(`candidate/${run.name(run.best)}`) }, score(best)), `seed ${score(seed)}: ${gainText(run.direction, best, seed)}`, "main"),
      tile("candidates", count(run.count - run.probes), `${count(scored)} scored; ${count(s.spent.evaluations)} evaluations${s.budget.evaluations ? ` of ${count(s.budget.evaluations)}` : ""}`),
      tile("time", duration(s.spent.seconds), s.budget.seconds ? `of ${duration(s.budget.seconds)}` : `${plural(s.rounds, "round")}`),
      tile("model calls", count(calls), calls ? money(dollars, unpriced) : "no model"),
      tile("improvements", count(run.improvements.length - 1), `best is candidate ${run.name(run.best)}`)),
    h("section", { class: "card verdict" }, h("h2", {}, "Would more time pay?"), h("p", {}, h("strong", {}, words.head), " ", words.tail),
      h("p", { class: "note" }, forecast(s), " What was found? ", h("a", { href: link(`candidate/${run.name(run.best)}`) }, "Best program"), ". How? ", h("a", { href: link("lineage") }, "The way to it"), ". Is it real? ", h("a", { href: link("trust") }, "Evidence"), calls ? [". What did it cost? ", h("a", { href: link("model") }, "Model calls")] : "", ".")),
    h("div", { class: "grid" }, convergenceCard(run, link), h("div", {}, failures(run, link), operators(run))),
    h("div", { class: "grid" },
      card("State", h("p", {}, h("span", { class: `badge ${s.state}` }, s.state), " ", s.end || (s.state === "running" ? `round ${s.rounds} is the next to be committed` : "not ended: it was interrupted")),
        uncommitted ? h("p", { class: "note" }, `${plural(uncommitted, "evaluation")} stored beside the committed candidates (checks, races, rounds in flight).`) : null,
        s.remarks.length ? h("ul", {}, s.remarks.map((/** @type {string} */ text) => h("li", {}, text))) : null,
        h("h3", {}, "To continue"), command(s.command)),
      card("Spending", workDone(run), table([["resource"], ["spent", true], ["budget", true], ["share", true]], Object.keys(s.spent).map((name) => [name.replace("_", " "), score(Number(s.spent[name].toFixed(4))), s.budget[name] ? score(s.budget[name]) : "–", s.budget[name] ? percent(s.spent[name] / s.budget[name]) : "–"])))),
  ];
}

/** Numbers of candidates, and the time that they took. @param {any} run */
function workDone(run) {
  const c = run.c, started = c.wall.filter((/** @type {number} */ seconds) => seconds > 0).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  const ended = c.status.filter((/** @type {string} */ status) => status === "screened").length;
  const facts = [`${duration(c.cpu.reduce((/** @type {number} */ sum, /** @type {number} */ seconds) => sum + seconds, 0))} CPU`];
  if (started.length) facts.push(`median evaluation ${duration(started[Math.floor(started.length / 2)])}`);
  if (run.summary.spent.seconds > 0) facts.push(`${count((run.summary.spent.evaluations / run.summary.spent.seconds) * 3600)} evaluations an hour`);
  if (ended) facts.push(`${plural(ended, "candidate")} ended before a full score`);
  if (run.probes) facts.push(`${plural(run.probes, "probe")} beside the candidates`);
  return h("p", { class: "note" }, `${facts.join("; ")}.`);
}

/** @param {any} s */
function forecast(s) {
  const shares = Object.keys(s.budget).filter((name) => s.spent[name] !== undefined).map((name) => ({ name, share: s.spent[name] / s.budget[name] }));
  const first = shares.sort((a, b) => b.share - a.share)[0];
  if (!first || first.share <= 0) return "";
  if (first.share >= 1) return `The budget of ${first.name.replace("_", " ")} is used up.`;
  const left = (s.spent.seconds * (1 - first.share)) / first.share;
  const dollars = s.spent.money ? `, ${money((s.spent.money * (1 - first.share)) / first.share)} more` : "";
  return `${percent(first.share)} of the budget of ${first.name.replace("_", " ")} is used; the rest takes about ${duration(left)}${dollars} at this speed.`;
}

/** @param {any} run @param {(view: string) => string} link */
function convergenceCard(run, link) {
  const holder = h("div", {});
  const names = /** @type {const} */ ({ row: "candidates", at: "minutes", calls: "model calls", money: "US dollars" });
  const keys = /** @type {("row" | "at" | "calls" | "money")[]} */ (Object.keys(names)).filter((axis) => (axis !== "calls" || run.c.key.some(Boolean)) && (axis !== "money" || run.summary.spent.money > 0));
  const buttons = keys.map((axis) => button(names[axis], () => show(axis), { "aria-pressed": "false" }));
  /** @param {"row" | "at" | "calls" | "money"} axis */
  function show(axis) {
    buttons.forEach((node, at) => node.setAttribute("aria-pressed", String(keys[at] === axis)));
    const data = convergence(run, axis);
    const lines = [{ value: run.c.score[run.seed], label: "seed" }, ...Object.entries(run.summary.published).map(([name, value]) => ({ value, label: `published ${name}` }))];
    holder.replaceChildren(lineChart({ x: names[axis], y: "score", data, range: scoreLimits(run), lines, label: `Best score over ${names[axis]}: from ${score(run.c.score[run.seed])} to ${score(run.c.score[run.best])}`,
      series: [{ label: "candidate", color: `${cssColor("--s6")}`, points: true }, { label: "best so far", color: cssColor("--s1"), step: true }] }));
  }
  show("row");
  return card("Best so far", h("div", { class: "row" }, buttons), holder,
    h("details", {}, h("summary", {}, plural(run.improvements.length, "step")), table([["candidate"], ["score", true], ["gain on the step before", true], ["by"]], run.improvements.map((/** @type {number} */ row, /** @type {number} */ at) => [h("a", { href: link(`candidate/${run.name(row)}`) }, run.name(row)), score(run.c.score[row]), at ? gainText(run.direction, run.c.score[row], run.c.score[run.improvements[at - 1]]) : "–", run.c.origin[row]]).reverse())));
}

/** @param {any} run @param {(view: string) => string} link */
function failures(run, link) {
  /** @type {Map<string, {number: number, messages: Map<string, {number: number, row: number}>}>} */ const kinds = new Map();
  for (let row = 0; row < run.count; row += 1) {
    if (run.c.score[row] !== null || run.c.origin[row] === "probe") continue;
    const kind = kinds.get(run.c.status[row]) || { number: 0, messages: new Map() };
    kind.number += 1;
    kind.messages.set(run.c.message[row], { number: (kind.messages.get(run.c.message[row])?.number || 0) + 1, row });
    kinds.set(run.c.status[row], kind);
  }
  const rows = [...kinds].sort((a, b) => b[1].number - a[1].number);
  const total = run.count - run.probes;
  if (!rows.length) return card("Failures", h("p", { class: "note" }, "Every candidate has a score."));
  return card("Failures", bars(rows.map(([name, kind]) => ({ name, text: `${count(kind.number)} (${percent(kind.number / total)})`, parts: [{ value: kind.number, color: "var(--s2)", title: plural(kind.number, "candidate") }] })), rows[0][1].number),
    h("ul", { class: "note" }, rows.slice(0, 6).map(([name, kind]) => { const top = [...kind.messages].sort((a, b) => b[1].number - a[1].number)[0]; return h("li", {}, `${name}, ${plural(top[1].number, "time")}: ${top[0] || "no message"}, such as `, h("a", { href: link(`candidate/${run.name(top[1].row)}`) }, run.name(top[1].row))); })));
}

/** @param {any} run */
function operators(run) {
  /** @type {Map<string, Record<string, number>>} */ const groups = new Map();
  for (let row = 0; row < run.count; row += 1) {
    if (row === run.seed || run.c.origin[row] === "probe") continue;
    const group = groups.get(run.c.origin[row]) || {};
    group[run.c.placed[row]] = (group[run.c.placed[row]] || 0) + 1;
    groups.set(run.c.origin[row], group);
  }
  const sum = (/** @type {Record<string, number>} */ group) => Object.values(group).reduce((a, b) => a + b, 0);
  const rows = [...groups].sort((a, b) => sum(b[1]) - sum(a[1])).slice(0, 12);
  if (!rows.length) return null;
  return card("Operators", bars(rows.map(([name, group]) => ({ name, text: count(sum(group)), parts: OUTCOMES.map(([key, title, color]) => ({ value: (group[key] || 0) / sum(group), color: `var(${color})`, title: `${percent((group[key] || 0) / sum(group))} ${title}` })) })), 1),
    h("p", { class: "legend" }, OUTCOMES.map(([, title, color]) => h("span", {}, h("i", { css: { background: `var(${color})` } }), title))));
}
