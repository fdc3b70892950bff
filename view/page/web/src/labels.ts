// What a step says in one line, from its values; the whole sentence stands below the picture.
import type { Change, Page, Step } from "./model.js";
import { get, parts, text, type Value } from "./state.js";
import { count, plain, short, span } from "./text.js";

/** The name of an object without its kind: "data", or "other/data" outside of the namespace default. */
export function nameOf(page: Page, object: number): string {
  const o = page.objects[object]!;
  return short(o.namespace && o.namespace !== "default" ? `${o.namespace}/${o.name}` : o.name);
}

/** A short word for the kind. */
export function kindOf(page: Page, object: number): string {
  const o = page.objects[object]!;
  return o.short === "volumeattachment" ? "attachment" : plain(o.short);
}

/** The name of a lane, with its node. */
export function laneName(page: Page, lane: number): string {
  const l = page.lanes[lane]!;
  return plain(l.node ? `${l.name} ${l.node}` : l.name);
}

/** Whether a step failed or was refused. */
export function failed(step: Step): boolean {
  return !!(step.write?.refused || step.mount?.err || step.command?.err || step.call?.err || (step.call && step.call.code !== "OK" && step.call.code !== ""));
}

/** What is bad without being an error: a warning, a crash, a fault. */
export function troubled(step: Step): boolean {
  return failed(step) || step.event?.type === "Warning" || step.kind === "down" || step.kind === "fault";
}

/** One line that says what the step is. */
export function label(page: Page, index: number): string {
  const step = page.steps[index]!;
  if (step.write) return writeLabel(step);
  if (step.event) return `${plain(step.event.reason)}: ${short(step.event.message)}`;
  if (step.call) return callLabel(step);
  if (step.mount) return mountLabel(step);
  if (step.delivery && step.about !== undefined) return `sees version ${step.delivery.rv}`;
  if (step.kind === "retry" && step.for !== undefined) return `tries again in ${span(step.for)}`;
  if (step.kind === "down") return step.for ? `does not run for ${span(step.for)}` : "does not run from here on";
  return withoutSubject(page, step);
}

/** A decision's sentence begins with the object, which the row shows already. */
function withoutSubject(page: Page, step: Step): string {
  const sentence = short(step.text);
  if (step.about === undefined) return sentence;
  const o = page.objects[step.about]!;
  const subject = short(`${o.short} ${o.namespace ? o.namespace + "/" : ""}${o.name}: `);
  return sentence.startsWith(subject) ? sentence.slice(subject.length) : sentence;
}

function writeLabel(step: Step): string {
  const w = step.write!;
  if (w.refused) return `refused: ${w.refused.code} ${plain(w.refused.reason)}`;
  if (w.gone) return "is gone";
  if (w.created) return creation(w.changes?.[0]?.value);
  if (w.verb === "delete") return "is marked as deleted; finalizers or its node come first";
  const all = (w.changes ?? []).filter((c) => !never.test(c.path)).map(changeLabel).filter((c) => c.text !== "").sort((a, b) => a.rank - b.rank);
  if (!all.length) return `${plain(w.verb)} without a change`;
  return fitting(all.map((c) => c.text));
}

/** As many of the parts as a row has room for, at least one, and how many there are more. */
function fitting(list: string[]): string {
  let seen = list[0]!;
  for (let i = 1; i < list.length; i++) {
    if (seen.length + list[i]!.length > (i === list.length - 1 ? 44 : 36)) return `${seen}, ${list.length - i} more`;
    seen += `, ${list[i]}`;
  }
  return seen;
}

function creation(value: Value): string {
  const claim = text(value, "spec", "claimRef", "name");
  const volume = text(value, "spec", "source", "persistentVolumeName");
  if (claim) return `is created with claimRef ${short(claim)}`;
  if (volume) return `is created: ${short(volume)} to ${short(text(value, "spec", "nodeName"))}`;
  return "is created";
}

const first = ["phase", "volumeName", "claimRef", "nodeName", "selected-node", "attached", "unschedulable", "taints"];
const last = ["bound-by-controller", "observedGeneration"];
const never = /\/(lastTransitionTime|lastPhaseTransitionTime)$/; // it changes with what is shown

function changeLabel(change: Change): { rank: number; text: string } {
  const path = parts(change.path);
  let name = path[path.length - 1] ?? "";
  if (path.includes("annotations") || path.includes("labels")) name = name.slice(name.lastIndexOf("/") + 1);
  const rank = first.includes(name) ? first.indexOf(name) : last.includes(name) ? 100 : 50;
  if (change.removed) return { rank, text: `${plain(name)} removed` };
  if (name === "conditions") return { rank: 40, text: conditions(change) };
  return { rank, text: `${plain(name)}: ${brief(change.value)}` };
}

/** The conditions whose status differs. */
function conditions(change: Change): string {
  const list = (value: Value) => (Array.isArray(value) ? value : []) as Value[];
  const old = new Map(list(change.old).map((c) => [text(c, "type"), text(c, "status")]));
  const now = list(change.value).filter((c) => old.get(text(c, "type")) !== text(c, "status"));
  return now.map((c) => plain(`${text(c, "type")}=${text(c, "status")}`)).join(", ");
}

function brief(value: Value): string {
  if (Array.isArray(value)) {
    if (value.every((v) => typeof v === "string")) return short(value.join(", ")) || "none";
    const names = value.map((v) => text(v, "name") || text(v, "key") || text(v, "type"));
    return names.every((n) => n) ? short(names.join(", ")) : count(value.length, "item");
  }
  if (typeof value === "object" && value !== null) {
    if (typeof get(value, "name") === "string") return short(text(value, "name"));
    return short(Object.entries(value).map(([k, v]) => (typeof v === "object" ? k : `${k} ${String(v)}`)).slice(0, 2).join(", "));
  }
  return short(String(value));
}

function callLabel(step: Step): string {
  const c = step.call!;
  const method = plain(c.method);
  if (c.fault) return `${method}: ${plain(c.fault)}`;
  const took = c.tookMs ? ` after ${span(c.tookMs)}` : "";
  if (c.err || (c.code && c.code !== "OK")) return `${method} fails: ${plain(c.code)}${took}${c.err ? ": " + short(c.err) : ""}`;
  return `${method}: OK${took}`;
}

function mountLabel(step: Step): string {
  const m = step.mount!;
  const what = m.volume ? short(m.volume) : short(m.source);
  if (m.err) return `${m.op === "mount" ? "cannot mount" : "cannot unmount"} ${what}: ${short((m.err.split("\n").pop() ?? "").replace(/^Output: /, ""))}`;
  return m.op === "mount" ? `mounts ${what}` : `unmounts ${what}`;
}
