// What there is at the cursor: cards of objects with the arrows between them, and each node's disk.
import { breakable, h, put, s } from "./dom.js";
import { Families, type Family, type Pointers } from "./families.js";
import { kindClass } from "./glyphs.js";
import { kindOf, nameOf } from "./labels.js";
import { nodesView } from "./nodes.js";
import { condition, get, text, type State } from "./state.js";
import { related } from "./related.js";
import type { Store } from "./store.js";
import { count, plain, short } from "./text.js";

interface Fact { name: string; value: string; flag?: boolean; bad?: boolean }

const most = 12; // families that are drawn; the others are counted

export class Cards {
  readonly element: HTMLElement;
  private body = h("div", { class: "cards" });
  private title = h("h2", {}, "Objects at this step");
  private families: Families;
  private touched = new Set<number>();
  private near = new Set<number>();

  constructor(private store: Store) {
    this.families = new Families(store.page);
    this.element = h("section", { class: "state", "aria-label": "Objects at this step" }, this.title, this.body);
    store.listen((change) => {
      if (change === "page") this.families = new Families(store.page);
      if (change === "step" || change === "marks") this.draw();
    });
  }

  draw(): void {
    const { store } = this;
    const state = store.replay.after(store.step);
    const step = store.page.steps[store.step];
    this.touched = new Set(step?.about === undefined ? [] : [step.about]);
    const all = this.families.at(state);
    this.near = new Set(related(store.page, store.step));
    const near = (f: Family) => members(f).some((o) => this.near.has(o) || o === store.focus);
    const kept = all.length <= most ? all : [...all.filter(near), ...all.filter((f) => !near(f))].slice(0, most);
    const parts: Node[] = kept.map((family) => this.family(state, family));
    if (kept.length < all.length) parts.push(h("p", { class: "hint" }, `${count(all.length - kept.length, "more row")} of objects not shown`));
    if (!all.length) parts.push(h("p", { class: "hint" }, "There is no claim, volume or pod."));
    const rest = this.others(state);
    put(this.body, ...parts, nodesView(store, state), rest);
    this.body.querySelector(".family.near")?.scrollIntoView?.({ block: "nearest" });
  }

  private family(state: State, f: Family): HTMLElement {
    const near = members(f).some((o) => this.near.has(o));
    const box = h("div", { class: near ? "family near" : "family" });
    if (f.pods.length || f.attachments.length) {
      box.append(h("div", { class: "stack" }, ...f.pods.map((p) => this.card(state, p))), h("div", {}), h("div", { class: "stack end" }, ...f.attachments.map((a) => this.card(state, a))));
      if (f.claim >= 0 || f.volume >= 0) {
        box.append(f.pods.length ? stem("uses", true) : h("div", {}), h("div", {}), f.attachments.length ? stem("attaches", true) : h("div", {}));
      }
    }
    if (f.claim < 0 && f.volume < 0) return box;
    const pointers = f.claim >= 0 && f.volume >= 0 ? this.families.pointers(state, f.claim, f.volume) : undefined;
    const empty = (text: string) => h("div", { class: "empty" }, text);
    box.append(f.claim >= 0 ? this.card(state, f.claim) : empty("no claim"), pointersView(pointers), f.volume >= 0 ? this.card(state, f.volume) : empty("no volume"));
    return box;
  }

  private card(state: State, object: number): HTMLElement {
    const { store } = this;
    const value = state.objects[object];
    const deleting = text(value, "metadata", "deletionTimestamp") !== "";
    const facts = factsOf(store, object, state);
    const phase = text(value, "status", "phase");
    const cls = `card o-${kindClass(store.page, object)}${this.touched.has(object) ? " touched" : ""}${deleting ? " deleting" : ""}${store.focus >= 0 && store.focus !== object ? " dim" : ""}${store.focus === object ? " focus" : ""}`;
    const kind = kindOf(store.page, object);
    const name = nameOf(store.page, object);
    const sayFacts = facts.map((f) => `${f.name} ${f.value}`.trim()).join(", ");
    return h("button", {
      type: "button", class: cls, "aria-pressed": store.focus === object ? "true" : "false", title: plain(store.page.objects[object]!.name),
      "aria-label": `${kind} ${name}${phase ? ", " + plain(phase) : ""}${sayFacts ? ", " + sayFacts : ""}`, onclick: () => store.look(object),
    },
    h("span", { class: "card-head" }, h("b", {}, kind), phase ? h("span", { class: "phase" }, plain(phase)) : undefined),
    h("span", { class: "card-name" }, name),
    ...facts.map((f) => h("span", { class: `fact${f.flag ? " flagged" : ""}${f.bad ? " bad" : ""}` }, f.flag ? flag() : undefined, f.name ? h("i", {}, f.name) : undefined, " ", f.flag ? h("span", { class: "whole" }, f.value) : undefined, ...(f.flag ? [] : breakable(f.value)))));
  }

  /** Objects that have no card, as small buttons. */
  private others(state: State): HTMLElement | undefined {
    const { store } = this;
    const carded = new Set(["PersistentVolumeClaim", "PersistentVolume", "Pod", "VolumeAttachment", "Node"]);
    const list = store.page.objects.flatMap((o, i) => (!carded.has(o.kind) && state.objects[i] !== undefined ? [i] : []));
    if (!list.length) return undefined;
    const chips = list.slice(0, 24).map((i) => h("button", {
      type: "button", class: `chip o-other${store.focus === i ? " focus" : ""}${this.touched.has(i) ? " touched" : ""}`, "aria-pressed": store.focus === i ? "true" : "false", onclick: () => store.look(i),
    }, h("b", {}, kindOf(store.page, i)), " ", nameOf(store.page, i)));
    return h("div", { class: "others" }, h("h3", {}, "Other objects"), h("div", { class: "chips" }, ...chips, list.length > 24 ? h("span", { class: "hint" }, ` and ${list.length - 24} more`) : undefined));
  }
}

function flag(): SVGSVGElement {
  return s("svg", { width: 11, height: 12, viewBox: "0 0 11 12", class: "flag-sign", "aria-hidden": "true" }, s("path", { d: "M1.5 12V1h8L7.5 4l2 3h-8" }));
}

function members(f: Family): number[] {
  return [f.claim, f.volume, ...f.pods, ...f.attachments];
}

/** A short line down from one card to another. */
function stem(word: string, down: boolean): HTMLElement {
  const d = down ? "M5 0v16M1.5 12.500l3.5 4 3.5 -4" : "";
  return h("div", { class: "stem" }, s("svg", { width: 10, height: 18, "aria-hidden": "true" }, s("path", { d })), h("span", {}, word));
}

/** The two pointers between a claim and its volume: each an arrow; dashed if the other side does not point back. */
function pointersView(p: Pointers | undefined): HTMLElement {
  const box = h("div", { class: "pointers" });
  if (!p || (!p.volumeName && !p.claimRef)) return box;
  const both = p.volumeName && p.claimRef;
  const say = both ? "volumeName and claimRef point at each other" : p.claimRef ? "claimRef points at the claim, volumeName does not point back yet" : "volumeName points at the volume, claimRef does not point back yet";
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", say);
  box.title = say;
  const cls = both ? "pointer" : "pointer one-sided";
  const svg = s("svg", { class: "pointer-svg", width: "84", height: "54", viewBox: "0 0 84 54", "aria-hidden": "true" });
  if (p.volumeName) svg.append(s("text", { x: 42, y: 11, "text-anchor": "middle" }, "volumeName"), s("path", { class: `${cls} to-volume`, d: "M2 19h72" }), s("path", { class: "pointer-tip to-volume", d: "M82 19l-9 -4.500v9z" }));
  if (p.claimRef) svg.append(s("path", { class: `${cls} to-claim${p.otherUid ? " bad" : ""}`, d: "M82 34h-72" }), s("path", { class: `pointer-tip to-claim${p.otherUid ? " bad" : ""}`, d: "M2 34l9 -4.500v9z" }), s("text", { x: 42, y: 49, "text-anchor": "middle" }, p.otherUid ? "other uid" : "claimRef"));
  box.append(svg);
  return box;
}

/** The few facts of an object that a card has room for. */
function factsOf(store: Store, object: number, state: State): Fact[] {
  const value = state.objects[object];
  const out: Fact[] = [];
  const add = (name: string, found: string, more: Partial<Fact> = {}) => { if (found) out.push({ name, value: short(found), ...more }); };
  if (text(value, "metadata", "deletionTimestamp")) out.push({ name: "marked as deleted", value: "", bad: true });
  switch (store.page.objects[object]!.kind) {
    case "PersistentVolumeClaim":
      add("wants", sized(text(value, "spec", "resources", "requests", "storage"), value));
      add("selected:", text(value, "metadata", "annotations", "volume.kubernetes.io/selected-node"), { flag: true });
      break;
    case "PersistentVolume":
      add("has", sized(text(value, "spec", "capacity", "storage"), value));
      add("is", sourceOf(value));
      break;
    case "Pod":
      add("on", text(value, "spec", "nodeName") || "no node yet");
      if (condition(value, "Ready") === "True") add("", "ready");
      break;
    case "VolumeAttachment":
      add("to", text(value, "spec", "nodeName"));
      add("", get(value, "status", "attached") === true ? "attached" : "not attached");
      break;
  }
  return out;
}

/** A size with the class. */
function sized(size: string, value: unknown): string {
  const cls = text(value, "spec", "storageClassName");
  return cls ? `${size} of class ${cls}` : size;
}

/** Where a volume's data is: "nfs 10.0.0.1:/data", "csi example.com". */
function sourceOf(pv: unknown): string {
  for (const kind of ["csi", "nfs", "local", "hostPath"]) {
    if (get(pv, "spec", kind) === undefined) continue;
    const detail = text(pv, "spec", kind, "driver") || text(pv, "spec", kind, "path");
    const server = text(pv, "spec", kind, "server");
    return `${kind} ${server ? server + ":" : ""}${detail}`;
  }
  return "";
}
