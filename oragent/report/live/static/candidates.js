import { button, card, choose, command, download, fill, h, table, tile } from "./dom.js";
import { NO_PROGRAM, difference, highlight, inOneLayout } from "./code.js";
import { cssColor, lineChart } from "./charts.js";
import { ask, EMBEDDED } from "./data.js";
import { count, duration, gain, gainText, money, percent, plural, score } from "./format.js";
import { VirtualTable } from "./table.js";

/** @param {any} run @param {(view: string) => string} link @returns {import("./table.js").Column[]} */
function allColumns(run, link) {
  const c = run.c;
  const seed = run.seed >= 0 ? c.score[run.seed] : null;
  const plain = (/** @type {string} */ key, /** @type {string} */ title, /** @type {number} */ width) => ({ key, title, width, text: (/** @type {number} */ row) => String(c[key][row] ?? ""), value: (/** @type {number} */ row) => c[key][row] });
  const placed = { N: "new cell", I: "improved", "-": "not kept", "": "" };
  const seconds = (/** @type {string} */ key, /** @type {string} */ title, width = 84) => ({ key, title, width, number: true, text: (/** @type {number} */ row) => duration(c[key][row]), value: (/** @type {number} */ row) => c[key][row] });
  return [
    { key: "id", title: "candidate", width: 92, text: (row) => run.name(row), value: (row) => row, link: (row) => link(`candidate/${run.name(row)}`) },
    { key: "score", title: "score", width: 96, number: true, text: (row) => score(c.score[row]), value: (row) => (c.score[row] === null ? NaN : c.score[row]) },
    { key: "gain", title: "on the seed", width: 104, number: true, text: (row) => (c.score[row] === null || seed === null || !seed ? "–" : percent(gain(run.direction, c.score[row], seed) / Math.abs(seed))), value: (row) => (c.score[row] === null ? NaN : gain(run.direction, c.score[row], seed ?? 0)) },
    { key: "title", title: "title", width: 260, text: (row) => run.title(row), value: (row) => run.title(row) },
    plain("status", "status", 84), plain("origin", "made by", 150), plain("model", "model", 150),
    { ...plain("placed", "archive", 88), text: (row) => placed[/** @type {keyof typeof placed} */ (c.placed[row])] },
    { ...plain("island", "island", 66), number: true },
    { key: "features", title: "cell", width: 84, text: (row) => run.cell(row)?.join(", ") ?? "", value: (row) => run.cell(row)?.join(",") ?? "" },
    { key: "parents", title: "parents", width: 110, text: (row) => c.parents[row].join(", "), value: (row) => c.parents[row][0] ?? "" },
    { key: "children", title: "children", width: 78, number: true, text: (row) => String(run.children.get(run.name(row))?.length ?? 0), value: (row) => run.children.get(run.name(row))?.length ?? 0 },
    { ...plain("size", "characters", 92), number: true }, seconds("at", "at", 104), seconds("wall", "duration"), seconds("cpu", "CPU"),
    plain("message", "message", 320),
  ];
}
const SHOWN = ["id", "score", "gain", "title", "status", "origin", "placed", "island", "features", "parents", "at", "message"];

/** Turn a filter such as `score<6 island=1 crossover` into a test of rows. @param {any} run @param {string} text @param {import("./table.js").Column[]} columns */
export function makeFilter(run, text, columns) {
  const tests = text.trim().split(/\s+/).filter(Boolean).map((term) => {
    const match = term.match(/^(\w+)(<=|>=|!=|=|<|>)(.+)$/);
    const column = match && columns.find((item) => item.key === match[1] || item.title === match[1]);
    if (!match || !column?.value) {
      const word = term.toLowerCase();
      return (/** @type {number} */ row) => run.name(row) === word || run.c.origin[row].toLowerCase().includes(word) || run.c.message[row].toLowerCase().includes(word) || run.c.status[row].includes(word);
    }
    const [, , sign, wanted] = match;
    const number = Number(wanted);
    const value = column.value;
    return (/** @type {number} */ row) => {
      const actual = value(row);
      if (typeof actual !== "number") { const same = column.text(row).toLowerCase().includes(wanted.toLowerCase()) || String(actual) === wanted; return sign === "!=" ? !same : same; }
      return { "<": actual < number, ">": actual > number, "<=": actual <= number, ">=": actual >= number, "=": actual === number, "!=": actual !== number }[sign] ?? false;
    };
  });
  return (/** @type {number} */ row) => tests.every((test) => test(row));
}

/** @param {any} run @param {(view: string) => string} link @param {URLSearchParams} query @param {(query: Record<string, string>) => void} remember */
export function candidates(run, link, query, remember) {
  const columns = allColumns(run, link);
  let shown = (query.get("columns") || SHOWN.join(",")).split(",");
  let sorting = { key: query.get("sort")?.replace("-", "") || "", descending: (query.get("sort") || "").startsWith("-") };
  /** @type {number[]} */ let order = [];
  const total = h("span", { class: "note", role: "status" });
  const search = h("input", { type: "search", placeholder: "Filter: words, or score<6 island=1 status=error", "aria-label": "Filter candidates", value: query.get("q") || "" });
  const tableNode = new VirtualTable({ label: "Candidates", columns: columns.filter((column) => shown.includes(column.key)), open: (row) => { location.hash = link(`candidate/${run.name(row)}`); },
    sort: (key) => { sorting = sorting.key !== key ? { key, descending: false } : sorting.descending ? { key: "", descending: false } : { key, descending: true }; update(true); } });
  function update(/** @type {boolean} */ isActed) {
    const keep = makeFilter(run, search.value, columns);
    order = [];
    for (let row = 0; row < run.count; row += 1) if (keep(row)) order.push(row);
    const column = columns.find((item) => item.key === sorting.key);
    if (column?.value) {
      const value = column.value, values = new Map(order.map((row) => [row, value(row)])), sign = sorting.descending ? -1 : 1;
      const rank = (/** @type {any} */ item) => (typeof item === "number" && Number.isNaN(item) ? 1 : 0);
      order.sort((a, b) => { const [x, y] = [values.get(a), values.get(b)]; return rank(x) - rank(y) || (x < y ? -sign : x > y ? sign : a - b); });
    } else order.reverse();
    total.textContent = `${count(order.length)} of ${plural(run.count, "candidate")}`;
    tableNode.show(order, sorting);
    if (isActed) remember({ q: search.value, sort: sorting.key ? (sorting.descending ? "-" : "") + sorting.key : "", columns: shown.join(",") === SHOWN.join(",") ? "" : shown.join(",") });
  }
  let timer = 0;
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => update(true), 120); });
  const boxes = columns.map((column) => h("label", {}, h("input", { type: "checkbox", checked: shown.includes(column.key), on: { change: (/** @type {any} */ event) => {
    shown = columns.map((item) => item.key).filter((key) => (key === column.key ? event.target.checked : shown.includes(key)));
    tableNode.setColumns(columns.filter((item) => shown.includes(item.key)));
    update(true);
  } } }), column.title));
  const quote = (/** @type {any} */ value) => { const text = String(value ?? ""); const safe = /^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text; return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe; };
  const exportCsv = () => download(`${run.summary.name}.csv`, [columns.map((column) => column.title).join(","), ...order.map((row) => columns.map((column) => quote(column.key === "id" ? run.name(row) : column.key === "parents" ? run.c.parents[row].join(" ") : column.key === "score" ? run.c.score[row] : column.value?.(row))).join(","))].join("\n"), "text/csv");
  update(false);
  return { nodes: [h("h1", {}, "Candidates"), h("div", { class: "row" }, search, total, h("details", {}, h("summary", {}, "Columns"), h("div", { class: "row" }, boxes)), button("Export CSV", exportCsv)), tableNode.node], refresh: () => update(false) };
}

/** Metrics by instance of two candidates, flattened. @param {any} a @param {any} b @returns {{size: string, at: number, a: number, b: number}[]} */
function instances(a, b) {
  const [first, second] = [a?.metrics?.by_instance, b?.metrics?.by_instance];
  if (!first || !second || typeof first !== "object") return [];
  return Object.keys(first).flatMap((size) => (Array.isArray(first[size]) && Array.isArray(second[size]) && first[size].length === second[size].length ? first[size].map((/** @type {number} */ value, /** @type {number} */ at) => ({ size, at, a: value, b: second[size][at] })) : []));
}

/** Mean and 95 % bootstrap interval of numbers. @param {number[]} values @returns {[number, number, number]} */
export function bootstrap(values) {
  let state = 12345;
  const random = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 4294967296; };
  const means = Array.from({ length: 1000 }, () => { let sum = 0; for (let at = 0; at < values.length; at += 1) sum += values[Math.floor(random() * values.length)]; return sum / values.length; }).sort((a, b) => a - b);
  return [values.reduce((a, b) => a + b, 0) / values.length, means[25], means[974]];
}

/** @param {any} run @param {any} mine @param {any} theirs @param {string} title */
function instanceCard(run, mine, theirs, title) {
  const rows = instances(mine, theirs);
  if (!rows.length) return h("p", { class: "note" }, "The evaluator prints no results by instance (metric by_instance), so instances cannot be compared.");
  const gains = rows.map((row) => gain(run.direction, row.a, row.b));
  const [mean, low, high] = bootstrap(gains);
  const better = gains.filter((value) => value > 0).length, worse = gains.filter((value) => value < 0).length;
  const sorted = gains.map((value, at) => ({ value, at })).sort((a, b) => a.value - b.value);
  return h("div", {}, h("p", {}, `Better than ${title} on ${better} of ${plural(rows.length, "instance")}, worse on ${worse}. Mean gain ${score(mean)}, 95 % bootstrap interval ${score(low)} to ${score(high)}.`),
    lineChart({ x: "instances, by gain", y: "gain (above 0 is better)", label: `Gain on ${title} by instance`, lines: [{ value: 0, label: "" }], data: [sorted.map((_, at) => at + 1), sorted.map((item) => item.value)], series: [{ label: "gain", color: cssColor("--s1"), points: true }] }),
    h("details", {}, h("summary", {}, "All instances"), table([["size"], ["instance", true], ["this", true], [title, true], ["gain", true]], rows.slice(0, 2000).map((row, at) => [row.size, row.at, score(row.a), score(row.b), score(gains[at])]))));
}

/** Buttons that pin or ban a candidate as a parent, or give a hint about it. @param {any} run @param {string} id */
function steerButtons(run, id) {
  const line = h("span", { class: "note", role: "status" });
  const send = async (/** @type {string} */ act, /** @type {string} */ value) => { try { line.textContent = (await ask("/api/steer", { run: run.id }, { act, value, call: "" })).line; } catch (problem) { line.textContent = /** @type {Error} */ (problem).message; } };
  const hint = h("input", { type: "text", placeholder: "a hint for later prompts", "aria-label": "Hint" });
  return h("div", { class: "row" }, button("Pin as parent", () => void send("pin", id)), button("Ban as parent", () => void send("ban", id)), hint, button("Send the hint", () => { if (hint.value.trim()) void send("hint", `About candidate ${id}: ${hint.value.trim()}`); }), line);
}

/** @param {any} run @param {string} id @param {(view: string) => string} link @param {URLSearchParams} query @param {(query: Record<string, string>) => void} remember */
export async function candidate(run, id, link, query, remember) {
  const row = run.rows.get(id);
  if (row === undefined) return [h("p", { class: "error" }, `No candidate ${id} is committed in this run.`)];
  const c = run.c;
  const detail = await ask("/api/candidate", { run: run.id, id });
  const parents = detail.parents.filter((/** @type {string} */ name) => run.rows.has(name));
  const options = /** @type {[string, string][]} */ ([...parents.map((/** @type {string} */ name) => [name, `parent ${name}`]), [run.name(run.seed), "seed"], [run.name(run.best), "best"]].filter(([name], at, all) => name !== id && all.findIndex((item) => item[0] === name) === at));
  let against = query.get("against") || options[0]?.[0] || "";
  const anchor = (/** @type {string} */ name) => (run.rows.has(name) ? h("a", { href: link(`candidate/${name}`) }, name) : name);
  const holder = h("div", {}), changes = h("div", {});
  async function compare(/** @type {string} */ name) {
    against = name;
    if (!run.rows.has(name)) { fill(changes, h("p", { class: "note" }, name ? `No candidate ${name}.` : "There is nothing to compare with.")); fill(holder); return; }
    const other = await ask("/api/candidate", { run: run.id, id: name });
    const title = options.find((item) => item[0] === name)?.[1] || name;
    const numbers = Object.entries(detail.metrics).filter(([key, value]) => typeof value === "number" && typeof other.metrics[key] === "number");
    const range = (/** @type {any} */ side) => (Array.isArray(side.metrics.ci95) ? h("span", { class: "wrap" }, side.metrics.ci95.map(score).join(" to ")) : "–");
    const intervals = [detail, other].some((side) => Array.isArray(side.metrics.ci95)) ? [["95 % interval over instances", range(detail), range(other), ""]] : [];
    fill(changes, card(`Difference from ${title}`, c.status[row] === "rejected" ? h("p", { class: "note" }, NO_PROGRAM) : difference(...inOneLayout(other, detail))));
    fill(holder, card(`Against ${title}`, table([["metric"], ["this", true], [title, true], ["difference", true]], [["score", score(detail.score), score(other.score), gainText(run.direction, detail.score, other.score)], ...intervals, ...numbers.map(([key, value]) => [key, score(/** @type {number} */ (value)), score(other.metrics[key]), score(/** @type {number} */ (value) - other.metrics[key])])])),
      card("Instance by instance", instanceCard(run, detail, other, title)));
  }
  const free = h("input", { type: "text", placeholder: "or an id, such as 12.0", "aria-label": "Compare with candidate", size: 20, on: { change: () => { remember({ against: free.value }); void compare(free.value.trim()); } } });
  await compare(against);
  const descendants = run.descendants(row);
  const elite = [...descendants].filter((item) => run.improvements.includes(item));
  const scores = c.score.filter((/** @type {any} */ value, /** @type {number} */ at) => value !== null && c.placed[at] !== "");
  const rank = detail.score === null ? null : scores.filter((/** @type {number} */ value) => run.better(value, detail.score)).length + 1;
  const pre = (/** @type {string} */ name, /** @type {string} */ text) => (text ? h("details", {}, h("summary", {}, name), h("pre", { tabindex: "0" }, text)) : null);
  return [
    h("h1", {}, `Candidate ${id}`, row === run.best ? " · best" : row === run.seed ? " · seed" : ""),
    h("div", { class: "tiles" },
      tile("score", score(detail.score), detail.score === null ? `${detail.status}: ${detail.message}` : `rank ${count(rank ?? 0)} of ${count(scores.length)}; on the seed ${gainText(run.direction, detail.score, c.score[run.seed])}`, "main"),
      tile("made by", detail.origin, detail.parents.length ? ["from ", ...detail.parents.flatMap((/** @type {string} */ name, /** @type {number} */ at) => [at ? ", " : "", anchor(name)])] : "no parents"),
      tile("archive", { N: "new cell", I: "improved", "-": "not kept", "": "none" }[/** @type {"N"} */ (c.placed[row])], `island ${c.island[row]}${detail.features ? `, cell ${detail.features.join(", ")}` : ""}`),
      tile("evaluation", duration(c.wall[row]), `${duration(c.cpu[row])} CPU, ${score(Math.round(detail.peak_mb || 0))} MiB; ended at ${duration(c.at[row])}`),
      tile("descendants", count(descendants.size), elite.length ? `${elite.length} of them improved the best` : "none of them improved the best")),
    detail.check ? h("p", { class: "note" }, `Check: ${detail.check.status}. ${detail.check.message}`) : null,
    detail.score === null ? card("Why it failed", h("p", { class: "bad" }, `${detail.status}: ${detail.message}`), detail.traceback ? h("pre", { tabindex: "0" }, detail.traceback) : null) : null,
    EMBEDDED ? null : steerButtons(run, id),
    h("div", { class: "row" }, choose("Compare with", options, against, (name) => { remember({ against: name }); void compare(name); }), free),
    h("div", { class: "grid" }, h("div", {}, changes, card("Program", highlight(detail.source), h("h3", {}, "Score it again"), command(detail.command))),
      h("div", {}, detail.calls.length ? h("div", { class: "short" }, card("Prompt and reply", detail.calls.map(callView))) : null, holder, card("How it was made", h("p", { class: "note" }, detail.calls.length ? `A model wrote it, as ${detail.origin}.` : "No model call: an operator made it."),
        pre("Log", detail.log), pre("Output", detail.output), pre("All metrics", JSON.stringify(detail.metrics, null, 1)),
        descendants.size ? h("details", {}, h("summary", {}, "Children"), h("p", {}, (run.children.get(id) || []).slice(0, 200).flatMap((/** @type {number} */ child) => [anchor(run.name(child)), ` ${score(c.score[child])}  `]))) : null))),
  ];
}

/** @param {any} call */
export function callView(call) {
  return h("div", {}, h("p", { class: "note" }, `${call.role} · ${call.model} · ${count(call.tokens_in)} tokens in (${count(call.tokens_cached)} cached), ${count(call.tokens_out)} out · ${duration(call.seconds)} · ${call.money === null ? "price unknown" : money(call.money)}${call.retries ? ` · ${plural(call.retries, "retry")}` : ""}`),
    call.prompt.map((/** @type {any} */ message) => h("details", {}, h("summary", {}, `Prompt: ${message.role || "text"} (${count(message.text.length)} characters)`), h("pre", { tabindex: "0" }, message.text))),
    h("details", { open: true }, h("summary", {}, "Reply"), h("pre", { tabindex: "0" }, call.reply)), call.tool_calls && call.tool_calls !== "[]" ? h("details", {}, h("summary", {}, "Tool calls"), h("pre", { tabindex: "0" }, call.tool_calls)) : null);
}
