// What the reader has chosen: the step, an object, filters. Everything that is drawn follows from it.
import { complete } from "./deliveries.js";
import type { Page } from "./model.js";
import { downs } from "./lanes.js";
import { related } from "./related.js";
import { firstLimit, rows, type Row, type Shown } from "./rows.js";
import { Replay, text } from "./state.js";

/** What changed; each part of the page looks at what concerns it. */
export type Change = "step" | "rows" | "marks" | "play" | "page";

export class Store {
  replay: Replay;
  downs: Map<number, [number, number][]>;
  /** The index of the step at the cursor; -1 is before the first. */
  step = -1;
  /** The object that is looked at; -1 is none. */
  focus = -1;
  /** Guess first: what comes after the cursor is not shown. */
  guess = false;
  query = "";
  playing = false;
  shown: Shown = { detail: false, unfolded: new Set(), letters: 90, limit: firstLimit };
  rows: Row[] = [];
  /** Steps that have a row, in order. */
  steps: number[] = [];
  /** By step: whether it has what is searched for. */
  found?: Set<number>;

  private listeners: ((change: Change) => void)[] = [];

  constructor(public page: Page) {
    this.replay = new Replay(page);
    this.downs = downs(page);
    this.layRows();
  }

  /** Puts another story in place of the page's, a longer one of the same run or one that forked from it. The cursor follows if it is at the end, or if it is to. */
  replace(page: Page, follow: boolean): void {
    const last = follow || this.atEnd();
    const n = this.page.steps[this.step]?.n ?? 0;
    this.keep(page);
    this.replay = new Replay(page);
    this.step = Math.max(0, page.steps.findLastIndex((s) => s.n <= n && s.kind !== "delivery"));
    this.turnTo(page, last);
  }

  /** Adds steps, objects and bases to the story. The cursor follows if it is at the end. */
  grow(news: Page): void {
    const last = this.atEnd();
    const { steps, objects, base = [] } = this.page;
    const from = steps.length;
    steps.push(...news.steps);
    objects.push(...news.objects);
    base.push(...(news.base ?? []));
    const page = { ...this.page, base }; // what was found out about the page that was, is not of this one
    for (const step of news.steps) {
      const uid = step.write?.created ? text(step.write.changes?.[0]?.value, "metadata", "uid") : "";
      if (uid) objects[step.about!]!.uid ??= uid; // a step may name an object before it is there
    }
    complete(page, from);
    this.replay.grow(page, news.base ?? []);
    this.turnTo(page, last);
  }

  private atEnd(): boolean {
    return this.place() === this.steps.length - 1;
  }

  private turnTo(page: Page, last: boolean): void {
    this.page = page;
    this.downs = downs(page);
    this.found = undefined;
    this.layRows();
    if (last) this.step = this.steps[this.steps.length - 1] ?? 0;
    this.say("page");
    this.say("rows");
    this.say("step");
  }

  /** Finds what the reader has chosen in a longer story, in which lanes, objects and steps have other indexes. */
  private keep(page: Page): void {
    const old = this.page;
    const lane = new Map(page.lanes.map((l, i) => [l.id, i]));
    const name = (o: Page["objects"][number]) => JSON.stringify([o.kind, o.namespace, o.name]);
    const object = new Map(page.objects.map((o, i) => [name(o), i]));
    const step = new Map(page.steps.flatMap((s, i) => (s.kind === "delivery" ? [] : [[s.n, i] as const])));
    const move = (set: Set<number>, to: (i: number) => number | undefined) => new Set([...set].flatMap((i) => to(i) ?? []));
    const { shown } = this;
    if (shown.lanes) shown.lanes = move(shown.lanes, (i) => lane.get(old.lanes[i]!.id));
    if (shown.objects) shown.objects = move(shown.objects, (i) => object.get(name(old.objects[i]!)));
    shown.unfolded = move(shown.unfolded, (i) => (old.steps[i]!.kind === "delivery" ? undefined : step.get(old.steps[i]!.n)));
    if (this.focus >= 0) this.focus = object.get(name(old.objects[this.focus]!)) ?? -1;
  }

  listen(listener: (change: Change) => void): void {
    this.listeners.push(listener);
  }

  say(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }

  /** Puts the cursor on a step. One that has no row gets one. */
  go(step: number): void {
    step = Math.max(0, Math.min(this.page.steps.length - 1, step));
    if (this.page.steps.length === 0) return;
    this.reveal(step);
    if (step === this.step) return;
    this.step = step;
    this.say("step");
  }

  /** Goes to the n-th next step that has a row; false at the end. */
  move(n: number): boolean {
    const at = this.place();
    const to = this.steps[Math.max(0, Math.min(this.steps.length - 1, at + n))];
    if (to === undefined || to === this.step) return false;
    this.go(to);
    return true;
  }

  /** The place of the cursor among the steps that have a row: of the last one that is not after it. */
  place(): number {
    let low = -1;
    let high = this.steps.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.steps[middle]! <= this.step) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private layRows(): void {
    this.rows = rows(this.page, this.shown);
    this.steps = this.rows.flatMap((row) => (row.kind === "step" ? [row.step] : []));
  }

  /** Lays the rows out anew, after a filter changed. */
  refilter(): void {
    this.layRows();
    this.say("rows");
  }

  private reveal(step: number): void {
    const s = this.page.steps[step]!;
    if (this.steps.includes(step)) return;
    if (s.detail && !this.shown.detail) this.shown.unfolded.add(step);
    this.layRows();
    if (!this.steps.includes(step) && this.rows.some((row) => row.kind === "more")) {
      this.shown.limit = step + firstLimit;
      this.layRows();
    }
    this.say("rows");
  }

  look(object: number): void {
    this.focus = this.focus === object ? -1 : object;
    this.say("marks");
  }

  /** Whether a step is about the object that is looked at, if there is one. */
  concerns(step: number): boolean {
    if (this.focus < 0) return true;
    return related(this.page, step).includes(this.focus);
  }
}
