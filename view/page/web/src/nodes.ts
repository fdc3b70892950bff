// Each node with its mounts and directories as a tree.
import { h } from "./dom.js";
import { nameOf } from "./labels.js";
import { condition, get, text, type State } from "./state.js";
import type { Store } from "./store.js";
import { count, plain, short } from "./text.js";

interface Leaf { path: string; note: string; fresh: boolean }
interface Branch { name: string; leaf?: Leaf; children: Map<string, Branch> }

const mostNodes = 8;
const mostLeaves = 40;

/** The nodes of a state; those with mounts come first if there are many. */
export function nodesView(store: Store, state: State): HTMLElement | undefined {
  const machines = new Map<string, number>(); // machine to the Node object, or -1
  store.page.objects.forEach((o, i) => { if (o.kind === "Node" && state.objects[i] !== undefined) machines.set(`node/${o.name}`, i); });
  for (const machine of [...state.mounts.keys(), ...state.files.keys()]) if (!machines.has(machine)) machines.set(machine, -1);
  if (!machines.size) return undefined;
  const busy = (m: string) => (state.mounts.get(m)?.size ?? 0) + (state.files.get(m)?.size ?? 0);
  const all = [...machines.keys()];
  const shown = all.length <= mostNodes ? all : all.sort((a, b) => busy(b) - busy(a)).slice(0, mostNodes);
  return h("div", { class: "nodes" }, ...shown.map((m) => nodeView(store, state, m, machines.get(m)!)), all.length > shown.length ? h("p", { class: "hint" }, `${count(all.length - shown.length, "more node")} not shown`) : undefined);
}

function nodeView(store: Store, state: State, machine: string, object: number): HTMLElement {
  const lane = store.page.lanes.findIndex((l) => l.kind === "kubelet" && `node/${l.node}` === machine);
  const down = (store.downs.get(lane) ?? []).some(([from, to]) => store.step >= from && store.step < to);
  const off = state.off.has(machine);
  const value = object < 0 ? undefined : state.objects[object];
  const ready = object < 0 ? "" : condition(value, "Ready");
  const touched = object >= 0 && store.page.steps[store.step]?.about === object;
  const name = object < 0 ? short(machine) : nameOf(store.page, object);
  const facts = [ready === "True" ? "Ready" : ready ? `Ready=${ready}` : "", off ? "switched off" : down ? "kubelet does not run" : "", ...taints(value)].filter((f) => f);
  const dim = store.focus >= 0 && store.focus !== object;
  const head = h("button", {
    type: "button", class: `node-head${touched ? " touched" : ""}${store.focus === object && object >= 0 ? " focus" : ""}`, disabled: object < 0, "aria-pressed": store.focus === object && object >= 0 ? "true" : "false",
    "aria-label": `node ${name}${facts.length ? ", " + facts.join(", ") : ""}`, onclick: () => { if (object >= 0) store.look(object); },
  }, h("b", {}, object < 0 ? "machine" : "node"), " ", h("span", { class: "card-name" }, name), ...facts.map((f) => h("span", { class: f === "Ready" ? "phase" : "phase bad" }, f)));
  const tree = grow(store, leaves(store, state, machine));
  const stopped = down && !off ? h("p", { class: "hint" }, "as it was when its kubelet stopped") : undefined;
  return h("div", { class: `node${down ? " down" : ""}${dim ? " dim" : ""}` }, head, stopped, tree.children.size ? h("ul", { class: "tree", "aria-label": `Mounts and directories of ${name}` }, ...twigs(tree)) : h("p", { class: "hint" }, "nothing is mounted"));
}

function taints(node: unknown): string[] {
  const list = get(node, "spec", "taints");
  if (!Array.isArray(list)) return [];
  return [...new Set(list.map((t) => "taint " + short(text(t, "key").split("/").pop() ?? "")))];
}

function leaves(store: Store, state: State, machine: string): Leaf[] {
  const mounts = [...(state.mounts.get(machine) ?? [])].map(([path, m]) => ({ path, note: `← ${short(tidy(store, m.source))}`, fresh: m.step === store.step }));
  const files = [...(state.files.get(machine) ?? [])].map(([path, f]) => ({ path, note: f.volume ? `volume ${short(f.volume)}` : "", fresh: f.step === store.step }));
  const all = [...mounts, ...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  return all.length > mostLeaves ? [...all.slice(0, mostLeaves), { path: `/and ${all.length - mostLeaves} more`, note: "", fresh: false }] : all;
}

/** Leaves out what all paths of a kubelet have, and puts a pod's name in place of its uid. */
function tidy(store: Store, path: string): string {
  const rest = path.replace(/^\/var\/lib\/kubelet\//, "…/");
  const pod = /^…\/pods\/([^/]+)\/volumes\/(?:kubernetes\.io~)?([^/]+)\/([^/]+)(\/mount)?$/.exec(rest);
  if (!pod) return rest.replace(/^…\/plugins\/kubernetes\.io\//, "…/");
  return `…/pods/${podName(store, pod[1]!)}/${pod[2]}/${pod[3]}`;
}

function podName(store: Store, uid: string): string {
  const pod = store.page.objects.find((o) => o.kind === "Pod" && o.uid === uid);
  return pod ? pod.name : uid;
}

function grow(store: Store, list: Leaf[]): Branch {
  const root: Branch = { name: "", children: new Map() };
  for (const leaf of list) {
    let at = root;
    const path = tidy(store, leaf.path).split("/").filter((p) => p);
    path.forEach((part, i) => {
      const name = i === 0 && part !== "…" ? "/" + part : part;
      let next = at.children.get(name);
      if (!next) at.children.set(name, (next = { name, children: new Map() }));
      at = next;
    });
    at.leaf = leaf;
  }
  return root;
}

/** The branches below one; a chain without forks is one line. */
function twigs(branch: Branch): HTMLElement[] {
  return [...branch.children.values()].map((child) => {
    let name = child.name;
    let at = child;
    while (!at.leaf && at.children.size === 1) {
      at = [...at.children.values()][0]!;
      name += "/" + at.name;
    }
    const line = h("span", { class: `twig${at.leaf?.fresh ? " fresh" : ""}`, title: at.leaf ? plain(at.leaf.path) : undefined }, short(name), at.leaf?.note ? h("span", { class: "note" }, " " + at.leaf.note) : undefined);
    return h("li", {}, line, at.children.size ? h("ul", {}, ...twigs(at)) : undefined);
  });
}
