import { bars, button, card, choose, command, fill, h, table, tile } from "./dom.js";
import { callView } from "./candidates.js";
import { ask } from "./data.js";
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
    if (!after) { list.append(h("p", { class: "note" }, "This file does not list calls; the page of a candidate shows its own, and oragent watch shows all.")); return; }
    list.append(table([["call"], ["role"], ["model"], ["tokens in", true], ["out", true], ["money", true], ["seconds", true]], calls.map((/** @type {any} */ call) => [button(call.key, async () => { shown.replaceChildren(...(await ask("/api/call", { run: run.id, key: call.key })).map(callView)); shown.scrollIntoView({ block: "nearest" }); }), call.role, call.model, count(call.tokens_in), count(call.tokens_out), call.money === null ? "–" : money(call.money), duration(call.seconds)])));
  }
  await load();
  const top = Math.max(...groups.map((/** @type {any} */ group) => group.calls));
  return [h("h1", {}, "Model"),
    h("div", { class: "tiles" }, tile("calls", count(sum("calls")), `${count(answered)} replies led to candidates`), tile("tokens in, out", `${count(sum("tokens_in"))}, ${count(sum("tokens_out"))}`, sum("tokens_in") ? `${percent(sum("tokens_cached") / sum("tokens_in"))} of the prompt tokens were cached` : ""), tile("money", money(sum("money"), sum("unpriced"))), tile("waiting", duration(sum("seconds")), `${score(Number((sum("seconds") / sum("calls")).toPrecision(3)))} s for a call; ${plural(sum("retries"), "failed attempt")}`), tile("unusable replies", count(rejected), `${count(failed)} of ${plural(fromModel.length, "candidate")} from replies have no score`)),
    card("By role", table([["role"], ["model"], ["calls", true], ["tokens in", true], ["cached", true], ["out", true], ["money", true], ["seconds for a call", true], ["failed attempts", true]], groups.map((/** @type {any} */ group) => [group.role, group.model, count(group.calls), count(group.tokens_in), count(group.tokens_cached), count(group.tokens_out), money(group.money, group.unpriced), score(Number((group.seconds / group.calls).toPrecision(3))), count(group.retries)])),
      bars(groups.map((/** @type {any} */ group) => ({ name: group.role, text: count(group.calls), parts: [{ value: group.calls, color: "var(--s1)", title: plural(group.calls, "call") }] })), top)),
    modelGains(run), memory(run),
    card("Calls", list, more, shown)];
}

/** What the programs of each model came to. @param {any} run */
function modelGains(run) {
  const c = run.c;
  /** @type {Map<string, number[]>} */ const groups = new Map();
  for (let row = 0; row < run.count; row += 1) if (c.model[row]) {
    const rows = groups.get(c.model[row]);
    if (rows) rows.push(row); else groups.set(c.model[row], [row]);
  }
  const share = (/** @type {number[]} */ rows, /** @type {(row: number) => boolean} */ test) => percent(rows.filter(test).length / rows.length);
  return card("By model", table([["model"], ["candidates", true], ["scored", true], ["entered the archive", true], ["improved the best", true], ["its best score", true]], [...groups].map(([name, rows]) => {
    const best = rows.reduce((/** @type {number | null} */ known, row) => (c.score[row] !== null && run.better(c.score[row], known) ? c.score[row] : known), null);
    return [name, count(rows.length), share(rows, (row) => c.score[row] !== null), share(rows, (row) => "NI".includes(c.placed[row] || "-")), count(rows.filter((row) => run.improvements.includes(row)).length), score(best)];
  })));
}

/** The memory of the strategy as it grew, the latest first. @param {any} run */
function memory(run) {
  if (!Object.keys(run.summary.notes).length) return null;
  const holder = h("div", {});
  ask("/api/ideas", { run: run.id }).then((found) => fill(holder, found.memory.length ? table([["since round", true], ["kind"], ["text"]], found.memory.map((/** @type {any[]} */ [round, kind, text]) => [count(round), kind, h("span", { class: "lines" }, text)])) : h("p", { class: "note" }, "The strategy wrote no lessons or reflections.")),
    (problem) => fill(holder, h("p", { class: "error" }, problem.message)));
  return card("Memory as it grew", holder);
}

/** Rows of a metric that may be a mapping. @param {string} name @param {any} value @returns {any[][]} */
function leaves(name, value) {
  if (value === null || typeof value !== "object") return [[name, typeof value === "number" ? score(value) : String(value)]];
  return Object.entries(value).flatMap(([key, item]) => leaves(`${name}, ${key}`, item));
}

/** What a machine keeps a candidate from. @param {{held: string[], missing: string[], where?: string} | null | undefined} found */
function isolation(found) {
  if (!found) return null;
  const where = found.where || "this machine";
  const list = (/** @type {string[]} */ items) => h("ul", {}, items.map((text) => h("li", {}, text)));
  return [found.missing.length ? [h("p", { class: "bad" }, `On ${where} nothing keeps a candidate from this:`), list(found.missing)] : null,
    h("details", {}, h("summary", {}, `On ${where} a candidate cannot do this (${found.held.length} of ${found.held.length + found.missing.length})`), list(found.held))];
}

/** A score with its interval as a line of text. @param {any} side */
function withInterval(side) { return side.interval ? `${score(side.score)} (${score(side.interval[0])} to ${score(side.interval[1])})` : score(side.score); }

/** @param {any} run @param {(view: string) => string} link */
export async function trust(run, link) {
  const found = await ask("/api/trust", { run: run.id });
  const missing = ["test", "fresh"].filter((name) => !found.sets.some((/** @type {any} */ set) => set.name === name));
  const report = `oragent report ${run.summary.folder}`;
  return [h("h1", {}, "Is the result real?"),
    found.problem ? h("p", { class: "error" }, found.problem) : null,
    card("Evidence", found.sentences.length ? h("ul", {}, found.sentences.map((/** @type {string} */ text) => h("li", {}, text))) : h("p", { class: "note" }, "The best program was not checked after the run, and has no held-out score yet."),
      found.checks ? h("p", {}, "Checks during the run: ", found.checks, ".") : null,
      missing.length ? [h("p", { class: "note" }, `Not measured yet: ${missing.join(" and ")}. This command scores seed and best on sets that the search never read:`), command(`${report} --test`)] : null),
    found.sets.length ? card("Seed and best on each set", table([["set"], ["seed", true], ["best", true], ["gain", true], ["instance by instance"]], found.sets.map((/** @type {any} */ set) => [set.name, withInterval(set.seed), withInterval(set.best), gainText(run.direction, set.best.score, set.seed.score), set.pair ? h("div", { class: "words" }, `${set.pair.counts}; ${set.pair.verdict}`) : "–"])), h("p", { class: "note" }, "In parentheses: 95 % interval over instances. val is read by the search; test is held out; fresh was drawn after the run.")) : null,
    Object.entries(found.figures || {}).filter(([, rows]) => rows.length).map(([name, rows]) => card("", h("details", {}, h("summary", {}, `All figures on ${name}`), table([["figure"], ["seed", true], ["best", true]], rows.map((/** @type {any} */ row) => [row[0], score(row[1]), score(row[2])]))))),
    (found.hardened || []).length ? card("Unusual arguments", table([["arguments"], ["outcome"], ["CPU seconds", true], ["reason"]], found.hardened.map((/** @type {any} */ test) => [test.name, h("span", { class: test.outcome === "failed" ? "bad" : "" }, test.outcome), test.seconds === null ? "–" : score(Number(test.seconds.toPrecision(3))), test.reason]))) : card("Unusual arguments", h("p", { class: "note" }, "Not tested yet: sizes 0, 1, 2, half and twice, ties, zeros and infeasible data."), command(`oragent harden ${run.summary.folder}`)),
    found.final ? card("Final round", h("p", {}, found.final.sentence), table([["place", true], ["candidate"], ["final round", true], ["val", true]], found.final.ranked.map((/** @type {any} */ row, /** @type {number} */ at) => [at + 1, h("a", { href: link(`candidate/${row[0]}`) }, row[0]), row[1], score(row[2])])), h("p", { class: "note" }, "The best elites of val on instances that no search and no other mode reads: the best of many on val owes some of that to chance. In parentheses: 95 % interval.")) : null,
    h("div", { class: "grid" },
      card("Time of the heuristic", (found.head || []).length ? h("ul", {}, found.head.map((/** @type {string} */ line) => h("li", {}, line))) : null, Object.keys(found.times || {}).length ? table([["metric of the best"], ["value", true]], Object.entries(found.times).flatMap(([name, value]) => leaves(name, value))) : h("p", { class: "note" }, "The evaluator prints no times."), h("h3", {}, "Limits of the run"), Object.keys(found.limits || {}).length ? table([["limit"], ["value", true]], Object.entries(found.limits).map(([name, value]) => [name, value === null || value === "problem" ? "as the problem says" : String(value)])) : h("p", { class: "note" }, "Defaults of the problem.")),
      card("Isolation", h("p", {}, "Each candidate runs in its own process; another process checks and scores its solutions. ", h("code", {}, "oragent doctor"), " shows what this machine can isolate."), isolation(found.isolation), run.summary.remarks.length ? h("ul", {}, run.summary.remarks.map((/** @type {string} */ text) => h("li", {}, text))) : null)),
    card("Do it again", h("p", { class: "note" }, "The score of the best program:"), command(found.command), h("p", {}, h("a", { href: link(`candidate/${run.name(run.best)}`) }, "Read the best program")))];
}

/** A picture with a caption. @param {any} picture @param {string} caption */
function pictureView(picture, caption) { return h("figure", {}, h("img", { src: picture.address, alt: picture.caption }), h("figcaption", { class: "note" }, caption)); }

/** The solutions of seed and best side by side, of an instance that the reader chooses. @param {any[]} pairs @param {string} direction */
function pairView(pairs, direction) {
  const names = [...new Set(pairs.map((picture) => picture.instance))];
  const shown = h("div", {});
  /** @param {string} name */
  function show(name) {
    const sides = ["seed", "best"].map((program) => pairs.find((picture) => picture.instance === name && picture.program === program)).filter(Boolean);
    const [seed, best] = sides;
    fill(shown, h("div", { class: "grid" }, sides.map((picture) => card(`${picture.program}: ${score(picture.value)}`, pictureView(picture, picture.caption)))),
      best ? h("p", {}, `Gain of the best over the seed on this instance: ${gainText(direction, best.value, seed.value)}.`) : null);
  }
  show(names[0]);
  return [h("p", {}, choose("Instance ", names.map((name) => [name, name]), names[0], show)), shown];
}

/** @param {any} run @param {(view: string) => string} link */
export async function solutions(run, link) {
  const found = await ask("/api/trust", { run: run.id });
  const path = run.summary.folder;
  const pictures = found.pictures || [];
  const whole = pictures.filter((/** @type {any} */ picture) => !picture.program);
  const pairs = pictures.filter((/** @type {any} */ picture) => picture.program);
  return [h("h1", {}, "Solutions"),
    pairs.length ? pairView(pairs, run.direction) : null,
    whole.length ? h("div", { class: "grid" }, whole.map((/** @type {any} */ picture) => card("", pictureView(picture, picture.caption)))) : null,
    found.pictures?.length ? null
      : card("", h("p", {}, "No pictures are stored for the best program. If the problem's evaluator can draw, this command lets it draw what the best program does, with the seed for comparison:"), command(`oragent report ${path} --pictures`)),
    h("p", { class: "note" }, "Pictures are drawn by the problem's own evaluator. ", h("a", { href: link(`candidate/${run.name(run.best)}`) }, "The best program"), ".")];
}
