import { button, card, command, h, table } from "./dom.js";
import { ask } from "./data.js";

/** @param {any} run @param {boolean} isAllowed */
export function steering(run, isAllowed) {
  const acts = run.summary.steering || [];
  const line = h("p", { class: "note", role: "status" });
  const path = run.summary.folder;
  const rows = [...acts.map((/** @type {any} */ act) => [`in effect since round ${act.round}`, act]), ...run.summary.waiting.map((/** @type {any} */ act) => ["waits", act])];
  const list = card("Acts", rows.length ? table([["state"], ["act"], ["value"]], rows.map(([when, act]) => [when, act.act, String(act.value ?? "")])) : h("p", { class: "note" }, "No acts yet."));
  if (!isAllowed) return [h("h1", {}, "Steer"), list, card("From a terminal", command(`oragent steer ${path} pause`))];
  const send = async (/** @type {string} */ act, /** @type {string} */ value, call = "") => {
    try { line.className = "note"; line.textContent = (await ask("/api/steer", { run: run.id }, { act, value, call })).line; } catch (problem) { line.className = "error"; line.textContent = /** @type {Error} */ (problem).message; }
  };
  const form = (/** @type {string} */ act, /** @type {string} */ title, /** @type {string} */ note, /** @type {boolean} */ isLong) => {
    const field = isLong ? h("textarea", { "aria-label": title }) : h("input", { type: "text", "aria-label": title });
    return card(title, h("p", { class: "note" }, note), field, h("div", { class: "row" }, button("Apply", () => void send(act, field.value), { class: "primary" })));
  };
  return [h("h1", {}, "Steer"), run.summary.state === "running" ? null : h("p", { class: "error" }, "This run is not running now: an act waits until it is resumed."),
    card("", h("div", { class: "row" }, button("Pause", () => void send("pause", "")), button("Continue", () => void send("continue", "")), button("Stop gently", () => void send("stop", ""))), line),
    h("div", { class: "grid" },
      form("budget", "Change the budget", "Such as evaluations=500 or seconds=3600.", false),
      form("hint", "Add a hint to prompts", "It joins the problem's description in all later prompts.", true),
      form("add", "Add a program", "Its text is scored in the next round like any candidate.", true),
      form("pin", "Pin a parent", "Parents are drawn from pinned candidates only. An id such as 12.0; empty: unpin all.", false),
      form("ban", "Ban a parent", "This candidate is not drawn as a parent any more. An id such as 12.0.", false)),
    card("Answer as the model", h("p", { class: "note" }, "You type the replies to the prompts of the next rounds. Each is stored like a reply of the model, and replayed with the run."),
      h("div", { class: "row" }, button("I answer", () => void send("person", "")), button("The model answers", () => void send("model", ""))),
      run.summary.asked.map((/** @type {any} */ asked) => {
        const field = h("textarea", { "aria-label": `Reply to call ${asked.key}` });
        return h("div", {}, h("h3", {}, `Call ${asked.key}, role ${asked.role}`), asked.prompt.map((/** @type {any} */ message) => [h("p", { class: "note" }, message.role), h("pre", { tabindex: "0" }, message.text)]), field,
          h("div", { class: "row" }, button("Send the reply", () => void send("answer", field.value, asked.key), { class: "primary" }), button("Leave it to the model", () => void send("answer", "", asked.key))));
      })),
    list, card("From a terminal", command(`oragent steer ${path} hint "prefer short edges"`))];
}
