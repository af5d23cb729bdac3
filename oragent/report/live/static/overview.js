import { bars, button, card, command, fill, h, table, tile } from "./dom.js";
import { cssColor, heatMap, lineChart } from "./charts.js";
import { difference, inOneLayout } from "./code.js";
import { ask, EMBEDDED } from "./data.js";
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
  // A seed that is far behind would flatten the curve: then the axis begins at the second program.
  const steps = run.improvements.map((/** @type {number} */ row) => c.score[row]);
  const isFar = steps.length > 2 && Math.abs(steps[1] - best) < 0.4 * spread && steps[1] !== best;
  const start = isFar ? steps[1] : seed, reach = isFar ? Math.abs(start - best) : spread;
  const far = sign * Math.max(sign * start, Math.min(sign * worst, sign * start + 0.35 * reach));
  const [low, high] = [Math.min(best, far), Math.max(best, far)];
  return [low - 0.08 * reach, high + 0.08 * reach];
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
  if (run.best < 0) return [h("h1", {}, s.title), now(run, link), card("", h("p", { class: "empty" }, `No candidate has a score yet; ${plural(s.evaluations, "evaluation")} stored. ${s.end}`), h("h3", {}, "To continue"), command(s.command))];
  const best = c.score[run.best], seed = c.score[run.seed];
  const calls = s.calls.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.calls, 0);
  const dollars = s.calls.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.money, 0);
  const unpriced = s.calls.reduce((/** @type {number} */ sum, /** @type {any} */ group) => sum + group.unpriced, 0);
  const words = verdict(run);
  const scored = c.score.filter((/** @type {any} */ value) => value !== null).length;
  const uncommitted = Math.max(0, s.evaluations - run.count);
  return [
    h("h1", {}, s.title),
    now(run, link),
    h("div", { class: "tiles" },
      tile(`best score, ${s.direction === "minimize" ? "lower" : "higher"} is better`, h("a", { href: link(`candidate/${run.name(run.best)}`) }, score(best)), `seed ${score(seed)}: ${gainText(run.direction, best, seed)}`, "main"),
      tile("candidates", count(run.count - run.probes), `${count(scored)} scored; ${count(s.spent.evaluations)} evaluations${s.budget.evaluations ? ` of ${count(s.budget.evaluations)}` : ""}`),
      tile("time", duration(s.spent.seconds), s.budget.seconds ? `of ${duration(s.budget.seconds)}` : `${plural(s.rounds, "round")}`),
      tile("model calls", count(calls), calls ? money(dollars, unpriced) : "no model"),
      tile("improvements", count(run.improvements.length - 1), `best is candidate ${run.name(run.best)}`)),
    h("div", { class: "grid" }, h("div", {}, convergenceCard(run, link), onePicture(run, link),
    h("section", { class: "card verdict" }, h("h2", {}, "Would more time pay?"), h("p", {}, h("strong", {}, words.head), " ", words.tail),
        h("p", { class: "note" }, forecast(s), " What was found? ", h("a", { href: link(`candidate/${run.name(run.best)}`) }, "Best program"), ". How? ", h("a", { href: link("lineage") }, "The way to it"), ". Is it real? ", h("a", { href: link("trust") }, "Evidence"), calls ? [". What did it cost? ", h("a", { href: link("model") }, "Model calls")] : "", "."))), h("div", {}, bestProgram(run, link), archiveMap(run, link))),
    h("div", { class: "grid" }, h("div", {}, failures(run, link),
      card("State", h("p", {}, h("span", { class: `badge ${s.state}` }, s.state), " ", s.end || (s.state === "running" ? `round ${s.rounds} is the next to be committed` : "not ended: it was interrupted")),
        uncommitted ? h("p", { class: "note" }, `${plural(uncommitted, "evaluation")} stored beside the committed candidates (checks, races, rounds in flight).`) : null,
        s.remarks.length ? h("ul", {}, s.remarks.map((/** @type {string} */ text) => h("li", {}, text))) : null,
        h("h3", {}, "To continue"), command(s.command))),
      h("div", {}, operators(run), card("Spending", workDone(run), table([["resource"], ["spent", true], ["budget", true], ["share", true]], Object.keys(s.spent).map((name) => [name.replace("_", " "), score(Number(s.spent[name].toFixed(4))), s.budget[name] ? score(s.budget[name]) : "–", s.budget[name] ? percent(s.spent[name] / s.budget[name]) : "–"]))))),
  ];
}

/** What runs now, and the acts that wait. @param {any} run @param {(view: string) => string} link */
export function now(run, link) {
  const s = run.summary, tasks = s.tasks, waiting = s.waiting;
  if (EMBEDDED || (s.state !== "running" && !waiting.length)) return h("div", { id: "now" });
  const since = (/** @type {number} */ start) => duration(Math.max(0, Math.round(Date.now() / 1000 - start)));
  return h("div", { id: "now" }, card("Now", tasks.length ? table([["what runs"], ["for", true]], tasks.map((/** @type {any} */ task) => [task.what, since(task.since)])) : h("p", { class: "note" }, s.state === "running" ? "No evaluation or model call is under way." : "The run is not running."),
    waiting.length ? h("p", {}, `${plural(waiting.length, "act")} not in effect yet: ${waiting.map((/** @type {any} */ act) => act.act).join(", ")}. `, h("a", { href: link("steer") }, "Steer")) : null));
}

/** Numbers of candidates, and the time that they took. @param {any} run */
function workDone(run) {
  const c = run.c, started = c.wall.filter((/** @type {number} */ seconds) => seconds > 0).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  const ended = c.status.filter((/** @type {string} */ status) => status === "screened").length;
  const scored = c.cpu.reduce((/** @type {number} */ sum, /** @type {number} */ seconds) => sum + seconds, 0), all = Math.max(run.summary.cpu_s || 0, scored);
  const facts = [`${duration(all)} of CPU time`, `${duration(scored)} of it for candidates, the rest for sweeps, probes and checks`].slice(0, all > 1.02 * scored ? 2 : 1);
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
  const holder = h("div", {}), hidden = h("p", { class: "note" });
  const names = /** @type {const} */ ({ row: "candidates", at: "minutes", calls: "model calls", money: "US dollars" });
  const keys = /** @type {("row" | "at" | "calls" | "money")[]} */ (Object.keys(names)).filter((axis) => (axis !== "calls" || run.c.key.some(Boolean)) && (axis !== "money" || run.summary.spent.money > 0));
  const buttons = keys.map((axis) => button(names[axis], () => show(axis), { "aria-pressed": "false" }));
  /** @param {"row" | "at" | "calls" | "money"} axis */
  function show(axis) {
    buttons.forEach((node, at) => node.setAttribute("aria-pressed", String(keys[at] === axis)));
    const data = convergence(run, axis);
    const limits = scoreLimits(run);
    const lines = [{ value: run.c.score[run.seed], label: "seed" }, ...Object.entries(run.summary.published).map(([name, value]) => ({ value, label: `published ${name}` }))];
    const seed = run.c.score[run.seed];
    hidden.textContent = seed < limits[0] || seed > limits[1] ? `The seed, ${score(seed)}, is outside of the axis.` : "";
    holder.replaceChildren(lineChart({ x: names[axis], y: "score", data, range: limits, lines, steps: stepTitles(run, data), label: `Best score over ${names[axis]}: from ${score(run.c.score[run.seed])} to ${score(run.c.score[run.best])}`,
      series: [{ label: "candidate", color: `${cssColor("--s6")}`, points: true }, { label: "best so far", color: cssColor("--s1"), step: true }] }));
  }
  show("row");
  return card("Best so far", h("div", { class: "row" }, buttons), holder, hidden,
    h("details", {}, h("summary", {}, plural(run.improvements.length, "step")), table([["candidate"], ["score", true], ["gain on the step before", true], ["by"]], run.improvements.map((/** @type {number} */ row, /** @type {number} */ at) => [[h("a", { href: link(`candidate/${run.name(row)}`) }, run.name(row)), " ", run.summary.titles[run.name(row)] || ""], score(run.c.score[row]), at ? gainText(run.direction, run.c.score[row], run.c.score[run.improvements[at - 1]]) : "–", run.c.origin[row]]).reverse())));
}

/** Title of each step of the curve, by its values. @param {any} run @param {(number | null)[][]} data */
function stepTitles(run, data) {
  const titles = new Map(run.improvements.map((/** @type {number} */ row) => [run.c.score[row], run.summary.titles[run.name(row)] || ""]));
  let before = /** @type {number | null} */ (null);
  return data[2].flatMap((value, at) => {
    const isStep = value !== null && value !== before;
    before = value;
    const label = isStep ? titles.get(/** @type {number} */ (value)) : "";
    return label ? [{ x: /** @type {number} */ (data[0][at]), y: /** @type {number} */ (value), label: label.length > 44 ? `${label.slice(0, 42)} …` : label }] : [];
  });
}

/** Idea of the best program, and its difference from the seed. @param {any} run @param {(view: string) => string} link */
function bestProgram(run, link) {
  const name = run.name(run.best), holder = h("div", {}, h("p", { class: "note" }, "Reading the program …"));
  const title = run.summary.titles[name];
  Promise.all([run.seed, run.best].map((row) => ask("/api/candidate", { run: run.id, id: run.name(row) }))).then(
    ([seed, best]) => fill(holder, h("div", { class: "short" }, run.best === run.seed ? h("p", { class: "note" }, "It is the seed.") : difference(...inOneLayout(seed, best)))),
    (problem) => fill(holder, h("p", { class: "note" }, problem.message)));
  ask("/api/trust", { run: run.id }).then((found) => { const idea = (found.head || []).find((/** @type {string} */ line) => line.startsWith("idea:")); if (idea) fill(words, idea.replace(/^idea:\s*/, "")); }, () => {});
  const words = h("p", {}, title || "");
  return card("Best program", h("p", {}, h("a", { href: link(`candidate/${name}`) }, name), `, ${score(run.c.score[run.best])}, by ${run.c.origin[run.best]}`), words, h("h3", {}, "Difference from the seed"), holder);
}

/** One instance with the solutions of seed and best. @param {any} run @param {(view: string) => string} link */
function onePicture(run, link) {
  const holder = h("div", {}, h("p", { class: "note" }, "No pictures are stored."));
  ask("/api/trust", { run: run.id }).then((found) => {
    const pictures = found.pictures || [], first = pictures.find((/** @type {any} */ picture) => picture.program)?.instance;
    const sides = ["seed", "best"].map((program) => pictures.find((/** @type {any} */ picture) => picture.program === program && picture.instance === first)).filter(Boolean);
    if (sides.length === 2) fill(holder, h("div", { class: "pair" }, sides.map((picture) => h("figure", {}, h("img", { src: picture.address, alt: picture.caption }), h("figcaption", { class: "note" }, `${picture.program}: ${score(picture.value)}`)))), h("p", { class: "note" }, `${first}. `, h("a", { href: link("solutions") }, "More instances"), "."));
    else if (pictures.length) fill(holder, h("figure", {}, h("img", { src: pictures[0].address, alt: pictures[0].caption })), h("p", {}, h("a", { href: link("solutions") }, "All pictures")));
    else fill(holder, h("p", { class: "note" }, "No pictures are stored. If the evaluator can draw, this command lets it:"), command(`oragent report ${run.summary.folder} --pictures`));
  }, (problem) => fill(holder, h("p", { class: "note" }, problem.message)));
  return card("One solution, seed and best", holder);
}

/** The archive of all islands as a map of its first two features. @param {any} run @param {(view: string) => string} link */
function archiveMap(run, link) {
  const axes = run.summary.axes;
  if (!axes.length) return null;
  const y = Math.min(1, axes.length - 1), cells = run.archive(-1, run.count, y ? [0, y] : [0]);
  if (!cells.size) return null;
  const best = run.c.score[run.best], values = [...cells.values()].map((row) => Math.abs(gain(run.direction, best, run.c.score[row])));
  const reach = Math.max(2 * values.sort((a, b) => a - b)[Math.floor(values.length / 2)], Math.abs(best) * 1e-6, 1e-12);
  const size = (/** @type {number} */ axis) => run.summary.grid?.measured[axis] ? run.summary.grid.bins[axis] : Math.min(60, axes[axis].bins);
  const map = heatMap({ columns: size(0), rows: y ? size(y) : 1, x: `${axes[0].name} (bin)`, y: y ? `${axes[y].name} (bin)` : "", label: `Archive: ${plural(cells.size, "cell")} filled`,
    cells: new Map([...cells].map(([key, row]) => [y ? key : `${key},0`, { share: Math.max(0, 1 - Math.abs(gain(run.direction, best, run.c.score[row])) / reach), best: run.c.score[row] === best, text: `${run.name(row)}: ${score(run.c.score[row])}${run.summary.titles[run.name(row)] ? `, ${run.summary.titles[run.name(row)]}` : ""}`, open: () => { location.hash = link(`candidate/${run.name(row)}`); } }])) });
  return card("Archive", map, h("p", { class: "note" }, `${plural(cells.size, "cell")} filled; the best program is framed. `, h("a", { href: link("archive") }, "Islands and other features"), "."));
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
