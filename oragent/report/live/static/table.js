import { h } from "./dom.js";

const ROW = 30;

/**
 * @typedef {{key: string, title: string, width: number, number?: boolean, text: (row: number) => string, value?: (row: number) => any, link?: (row: number) => string}} Column
 */

/** A table that holds only the rows in sight, so that 100,000 rows scroll smoothly. */
export class VirtualTable {
  /** @param {{columns: Column[], open: (row: number) => void, sort: (key: string) => void, label: string}} options */
  constructor(options) {
    this.options = options;
    /** @type {ArrayLike<number>} */ this.order = [];
    this.selected = 0;
    this.sorting = { key: "", descending: false };
    this.head = h("div", { class: "vt-head", role: "row" });
    this.body = h("div", { role: "rowgroup" });
    this.node = h("div", { class: "vt", role: "grid", tabindex: "0", "aria-label": options.label, on: { scroll: () => this.draw(), keydown: (/** @type {KeyboardEvent} */ event) => this.press(event) } }, this.head, this.body);
    new ResizeObserver(() => this.draw()).observe(this.node);
    /** @type {Column[]} */ this.columns = [];
    this.template = "";
    this.width = 0;
    this.setColumns(options.columns);
  }

  /** @param {Column[]} columns */
  setColumns(columns) {
    this.columns = columns;
    this.template = columns.map((column) => `minmax(${column.width}px, ${column.width}fr)`).join(" ");
    this.width = columns.reduce((sum, column) => sum + column.width, 0);
    this.show(this.order, this.sorting);
  }

  /** @param {ArrayLike<number>} order rows in their order @param {{key: string, descending: boolean}} sorting */
  show(order, sorting) {
    this.order = order;
    this.sorting = sorting;
    this.node.setAttribute("aria-rowcount", String(order.length));
    this.body.style.setProperty("height", `${order.length * ROW}px`);
    this.head.style.setProperty("grid-template-columns", this.template);
    this.head.style.setProperty("width", `${this.width}px`);
    this.head.replaceChildren(...this.columns.map((column) => {
      const sorted = sorting.key === column.key;
      return h("div", { role: "columnheader", class: column.number ? "num" : "", "aria-sort": sorted ? (sorting.descending ? "descending" : "ascending") : "none" },
        h("button", { type: "button", title: `Sort by ${column.title}`, on: { click: () => this.options.sort(column.key) } }, column.title + (sorted ? (sorting.descending ? " ↓" : " ↑") : "")));
    }));
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / ROW) - 5);
    const last = Math.min(this.order.length, first + Math.ceil(this.node.clientHeight / ROW) + 10);
    const rows = [];
    for (let at = first; at < last; at += 1) {
      const row = this.order[at];
      rows.push(h("div", { class: "vt-row", role: "row", "aria-rowindex": at + 1, "aria-selected": at === this.selected, css: { top: `${at * ROW + ROW}px`, "grid-template-columns": this.template, width: `${this.width}px` }, on: { click: () => { this.selected = at; this.options.open(row); } } },
        this.columns.map((column) => {
          const text = column.text(row);
          return h("div", { class: column.number ? "vt-cell num" : "vt-cell", role: "gridcell", title: text.length > 14 ? text : null }, column.link ? h("a", { href: column.link(row), tabindex: "-1" }, text) : text);
        })));
    }
    this.body.replaceChildren(...rows);
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[event.key];
    if (event.key === "Enter" && event.target === this.node && this.order.length) this.options.open(this.order[this.selected]);
    if (step === undefined) return;
    event.preventDefault();
    this.selected = Math.max(0, Math.min(this.order.length - 1, this.selected + step));
    const top = this.selected * ROW;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top > this.node.scrollTop + this.node.clientHeight - 3 * ROW) this.node.scrollTop = top - this.node.clientHeight + 3 * ROW;
    this.draw();
  }
}
