// What there is after a step: the objects, the mounts of each machine, the files. It is found by playing changes again.
import type { Base, Change, Page } from "./model.js";

/** A value of JSON that is never changed in place. */
export type Value = unknown;

export interface Mount { source: string; volume?: string; step: number }

export interface State {
  /** By the objects' indexes; undefined is an object that does not exist. */
  objects: Value[];
  /** By machine, then by target. */
  mounts: Map<string, Map<string, Mount>>;
  /** By machine, then by path. */
  files: Map<string, Map<string, { volume?: string; step: number }>>;
  /** Machines that are switched off. */
  off: Set<string>;
}

const every = 256; // steps between two states that are kept

/** Replay knows the state after each step of a page. */
export class Replay {
  private kept: State[] = [];
  private at = -1;
  private now: State;

  constructor(private page: Page) {
    this.now = { objects: new Array(page.objects.length).fill(undefined), mounts: new Map(), files: new Map(), off: new Set() };
    for (const base of page.base ?? []) this.now.objects[base.object] = base.value;
    this.kept.push(copy(this.now));
  }

  /** The state after the step of this index; -1 is before the first. Valid until the next call. */
  after(step: number): State {
    if (step < this.at || step - this.at > every) this.jump(Math.min(Math.floor((step + 1) / every), this.kept.length - 1));
    while (this.at < step) {
      this.at++;
      apply(this.now, this.page, this.at);
      if ((this.at + 1) % every === 0 && this.kept.length === (this.at + 1) / every) this.kept.push(copy(this.now));
    }
    return this.now;
  }

  /** Goes on with a page that has more at its end, and with what there was of more objects before the first step. */
  grow(page: Page, base: Base[]): void {
    this.page = page;
    for (const state of [this.now, ...this.kept]) for (const { object, value } of base) state.objects[object] = value;
  }

  /** One object after a step. */
  object(index: number, step: number): Value {
    return this.after(step).objects[index];
  }

  private jump(block: number): void {
    this.now = copy(this.kept[block]!);
    this.at = block * every - 1;
  }
}

function copy(state: State): State {
  const maps = <T>(m: Map<string, Map<string, T>>) => new Map([...m].map(([key, inner]) => [key, new Map(inner)]));
  return { objects: state.objects.slice(), mounts: maps(state.mounts), files: maps(state.files), off: new Set(state.off) };
}

function apply(state: State, page: Page, index: number): void {
  const step = page.steps[index]!;
  const write = step.write;
  if (write && step.about !== undefined && !write.refused) {
    let value = state.objects[step.about];
    for (const change of write.changes ?? []) value = changed(value, change);
    state.objects[step.about] = write.gone ? undefined : value;
  }
  if (step.mount && !step.mount.err) {
    const on = inner(state.mounts, step.mount.machine);
    if (step.mount.op === "mount") on.set(step.mount.target, { source: step.mount.source, volume: step.mount.volume, step: index });
    else on.delete(step.mount.target);
  }
  const node = page.lanes[step.lane]?.node;
  if (step.off && node) {
    state.mounts.delete(`node/${node}`);
    state.off.add(`node/${node}`);
  }
  if (step.kind === "up" && node) state.off.delete(`node/${node}`);
  if (step.file) {
    const on = inner(state.files, step.file.machine);
    if (step.file.op === "remove") on.delete(step.file.path);
    else on.set(step.file.path, { volume: step.file.volume, step: index });
  }
}

function inner<T>(maps: Map<string, Map<string, T>>, key: string): Map<string, T> {
  let found = maps.get(key);
  if (!found) maps.set(key, (found = new Map()));
  return found;
}

/** The parts of a JSON pointer (RFC 6901). */
export function parts(path: string): string[] {
  return path === "" ? [] : path.slice(1).split("/").map((p) => p.replace(/~1/g, "/").replace(/~0/g, "~"));
}

/** A value with one change made; the value itself stays as it is. */
export function changed(value: Value, change: Change): Value {
  return set(value, parts(change.path), change);
}

function set(value: Value, path: string[], change: Change): Value {
  if (path.length === 0) return change.removed ? undefined : change.value;
  const [key, ...rest] = path as [string, ...string[]];
  if (Array.isArray(value)) {
    const list = value.slice();
    const at = key === "-" ? list.length : Number(key);
    if (!Number.isInteger(at) || at < 0 || at > list.length) return value;
    if (rest.length === 0 && change.removed) list.splice(at, 1);
    else list[at] = set(list[at], rest, change);
    return list;
  }
  const old = new Map(Object.entries((value ?? {}) as object));
  if (rest.length === 0 && change.removed) old.delete(key);
  else old.set(key, set(old.get(key), rest, change));
  return Object.fromEntries(old); // defines properties: "__proto__" is a name as any other
}

/** The value at a path of names, undefined where there is none. */
export function get(value: Value, ...path: string[]): Value {
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as { [key: string]: Value })[key];
  }
  return value;
}

/** The text at a path, "" where there is none. */
export function text(value: Value, ...path: string[]): string {
  const found = get(value, ...path);
  return typeof found === "string" ? found : typeof found === "number" || typeof found === "boolean" ? String(found) : "";
}

/** The status of a condition, "" where there is none. */
export function condition(value: Value, type: string): string {
  const list = get(value, "status", "conditions");
  const found = Array.isArray(list) ? list.find((c) => text(c, "type") === type) : undefined;
  return text(found, "status");
}
