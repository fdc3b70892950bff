// Search, filters, switches and the key to the signs.
import { button, h, put, s } from "./dom.js";
import { sign } from "./glyphs.js";
import { kindOf, label, laneName, nameOf } from "./labels.js";
import type { Geometry } from "./lanes.js";
import type { Page, Step } from "./model.js";
import type { Store } from "./store.js";
import { count, plain } from "./text.js";

export class Tools {
  readonly element: HTMLElement;
  readonly search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search the steps", "aria-keyshortcuts": "/" });
  private hits = h("span", { class: "hits", role: "status" });
  private words: string[] | undefined;

  constructor(private store: Store) {
    store.listen((change) => {
      if (change !== "page") return;
      this.words = undefined;
      if (store.query) this.find();
    });
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (e) => {
      if (e.key === "Enter") this.next(e.shiftKey ? -1 : 1);
      if (e.key === "Escape") {
        this.search.value = "";
        this.find();
        this.search.blur();
      }
    });
    this.element = h("div", { class: "tools", role: "toolbar", "aria-label": "Search and filters" },
      h("span", { class: "search" }, this.search, this.hits), this.filter(),
      this.toggle("Details", "Show heartbeats, routine calls and other details", (on) => { store.shown.detail = on; store.refilter(); }),
      this.toggle("Guess first", "Hide what comes next until you ask for it", (on) => { store.guess = on; store.say("marks"); }),
      popover("Key", "What the signs mean", () => key()));
  }

  private toggle(name: string, title: string, act: (on: boolean) => void): HTMLElement {
    const b = button(name, { class: "switch", "aria-pressed": "false", title });
    b.addEventListener("click", () => {
      const on = b.getAttribute("aria-pressed") !== "true";
      b.setAttribute("aria-pressed", String(on));
      act(on);
    });
    return b;
  }

  private find(): void {
    const { store } = this;
    const query = this.search.value.trim().toLowerCase();
    store.query = query;
    this.words ??= store.page.steps.map((step, i) => words(store.page, step, i));
    store.found = query ? new Set(this.words.flatMap((w, i) => (w.includes(query) ? [i] : []))) : undefined;
    this.count();
    store.say("marks");
  }

  private count(): void {
    const { store } = this;
    const shown = store.found ? store.steps.filter((i) => store.found!.has(i)).length : 0;
    this.hits.textContent = store.found ? (shown ? `${count(shown, "step")} · Enter: next` : "nothing found") : "";
  }

  private next(direction: number): void {
    const { store } = this;
    if (!store.found) return;
    const hits = store.steps.filter((i) => store.found!.has(i));
    if (!hits.length) return;
    const after = direction > 0 ? (hits.find((i) => i > store.step) ?? hits[0]!) : (hits.findLast((i) => i < store.step) ?? hits[hits.length - 1]!);
    store.go(after);
  }

  private filter(): HTMLElement {
    const { store } = this;
    return popover("Filter", "Show only some actors or objects", () => {
      const { page } = store;
      const acting = new Set(page.steps.map((step) => step.lane));
      const lanes = page.lanes.flatMap((_, i) => (acting.has(i) ? [i] : []));
      const objects = page.objects.map((_, i) => i);
      return h("div", { class: "filters" },
        choice("Actors", lanes, (i) => laneName(page, i), store.shown.lanes, (chosen) => { store.shown.lanes = chosen; store.refilter(); }),
        choice("Objects", objects, (i) => `${kindOf(page, i)} ${nameOf(page, i)}`, store.shown.objects, (chosen) => { store.shown.objects = chosen; store.refilter(); }));
    });
  }
}

function words(page: Page, step: Step, index: number): string {
  const about = [step.about, ...(step.also ?? [])].flatMap((o) => (o === undefined ? [] : [`${page.objects[o]!.kind} ${page.objects[o]!.name}`]));
  return `${step.text} ${page.lanes[step.lane]!.id} ${laneName(page, step.lane)} ${label(page, index)} ${about.join(" ")}`.toLowerCase();
}

/** A list of boxes to tick; none or all ticked is no filter. */
function choice(title: string, all: number[], name: (i: number) => string, chosen: Set<number> | undefined, act: (chosen?: Set<number>) => void): HTMLElement {
  const boxes = all.map((i) => h("input", { type: "checkbox", value: String(i), name: name(i), checked: chosen?.has(i) ?? false }));
  const change = () => {
    const on = new Set(boxes.flatMap((b) => (b.checked ? [Number(b.value)] : [])));
    act(on.size ? on : undefined);
  };
  const clear = button("All", { class: "small", "aria-label": `Show all ${title.toLowerCase()}`, onclick: () => { for (const b of boxes) b.checked = false; change(); } });
  return h("fieldset", { onchange: change }, h("legend", {}, title), clear, h("div", { class: "choices" }, ...boxes.map((b, n) => h("label", {}, b, " ", plain(name(all[n]!))))));
}

/** A button that opens a box below it; Escape and a click elsewhere close it. */
function popover(name: string, title: string, content: () => HTMLElement): HTMLElement {
  const box = h("div", { class: "popover", hidden: true, role: "group", "aria-label": title });
  const b = button(name, { class: "switch", title, "aria-expanded": "false", "aria-haspopup": "true" });
  const wrap = h("span", { class: "pop" }, b, box);
  const open = (on: boolean) => {
    if (on) put(box, content());
    box.hidden = !on;
    b.setAttribute("aria-expanded", String(on));
  };
  b.addEventListener("click", () => open(!!box.hidden));
  wrap.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || box.hidden) return;
    open(false);
    b.focus();
    e.stopPropagation();
  });
  document.addEventListener("pointerdown", (e) => { if (!wrap.contains(e.target as Node)) open(false); });
  return wrap;
}

/** The key: each sign with its meaning. */
function key(): HTMLElement {
  const steps: [string, Partial<Step>][] = [
    ["writes an object to the API server", { kind: "write", about: 0, write: { verb: "update", rv: 1 } }],
    ["removes it", { kind: "write", about: 0, write: { verb: "delete", rv: 1, gone: true } }],
    ["is refused", { kind: "write", about: 0, write: { verb: "update", rv: 1, refused: { code: 409, reason: "", message: "" } } }],
    ["decides; click for the reasons", { kind: "decision", decision: {} }],
    ["calls a driver by gRPC", { kind: "call", call: { to: 2, driver: "", service: "", method: "", code: "OK" } }],
    ["the call fails", { kind: "call", call: { to: 2, driver: "", service: "", method: "", code: "Internal" } }],
    ["mounts a volume", { kind: "mount", mount: { op: "mount", machine: "", source: "", target: "" } }],
    ["unmounts it", { kind: "mount", mount: { op: "unmount", machine: "", source: "", target: "" } }],
    ["says something in an event", { kind: "event", event: { type: "Normal", reason: "", message: "" } }],
    ["warns in an event", { kind: "event", event: { type: "Warning", reason: "", message: "" } }],
    ["runs a program", { kind: "command" }],
    ["makes or changes a file", { kind: "file" }],
    ["waits and tries again", { kind: "retry" }],
    ["a fault strikes", { kind: "fault" }],
    ["stops or crashes; its line is grey until it starts", { kind: "down" }],
    ["starts", { kind: "up" }],
    ["its cache sees a write", { kind: "delivery", delivery: { rv: 1, resource: "" } }],
    ["differs from a cluster", { kind: "gap" }],
  ];
  const objects = ["pvc", "pv", "pod", "node", "volumeattachment"].map((short) => ({ kind: short, short, name: "" }));
  const g: Geometry = { columns: [], width: 110, spine: 58, x: [16, 58, 94] };
  const page = (step: Partial<Step>): Page => ({ schema: "storagesim.page/v1", title: "", release: "", start: "", lanes: [{ id: "", name: "", kind: "controller" }, { id: "", name: "", kind: "apiserver" }, { id: "", name: "", kind: "driver" }], objects, steps: [{ n: 0, t: 0, lane: 0, kind: "other", text: "", ...step }] });
  const items = steps.map(([text, step]) => h("li", {}, s("svg", { width: 110, height: 26, class: "signs", "aria-hidden": "true" }, s("line", { class: "lane", x1: 16, x2: 16, y1: 0, y2: 26 }), s("rect", { class: "spine", x: 55, y: 0, width: 6, height: 26 }), s("line", { class: "lane", x1: 94, x2: 94, y1: 0, y2: 26 }), sign(page(step), 0, g, 13)), h("span", {}, text)));
  const names: [string, string][] = [["pvc", "claim"], ["pv", "volume"], ["pod", "pod"], ["node", "node"], ["va", "attachment"]];
  return h("div", { class: "key" }, h("ul", {}, ...items), h("p", {}, ...names.map(([cls, name]) => h("span", { class: "key-kind" }, h("span", { class: `swatch o-${cls}` }), name))),
    h("p", { class: "hint" }, "Keys: → and ← one step, Home and End, Space plays, / searches, Esc shows all again. Between a claim and its volume, a dashed arrow points one way only. The player counts the steps shown; #step= in the address is the number of a record in the log."));
}
