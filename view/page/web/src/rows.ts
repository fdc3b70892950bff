// Rows of the story: steps, chapters, and what is folded between them.
import type { Page } from "./model.js";
import { related } from "./related.js";

export type Row =
  | { kind: "step"; step: number; top: number; height: number }
  | { kind: "chapter"; title: string; command: boolean; step: number; top: number; height: number }
  | { kind: "quiet"; ms: number; from: number; to: number; hidden: number; top: number; height: number }
  | { kind: "more"; left: number; top: number; height: number };

export interface Shown {
  detail: boolean;
  /** Steps of details that were unfolded one by one. */
  unfolded: Set<number>;
  /** Lanes and objects that are wanted; undefined is all. */
  lanes?: Set<number>;
  objects?: Set<number>;
  /** How many letters of a headline fit into a line. */
  letters: number;
  /** How many steps have rows. */
  limit: number;
}

export const heights = { step: 42, headline: 40, command: 26, quiet: 22, more: 44 };

/** How many steps have rows from the beginning; the rest is counted. */
export const firstLimit = 5000;

/** Whether the filters let a step through. */
export function wanted(page: Page, index: number, shown: Shown): boolean {
  const step = page.steps[index]!;
  if (shown.lanes && !shown.lanes.has(step.lane) && !(step.call?.to !== undefined && shown.lanes.has(step.call.to))) return false;
  if (shown.objects && !related(page, index).some((o) => shown.objects!.has(o))) return false;
  return true;
}

/** The rows to draw, from the top, with their places. */
export function rows(page: Page, shown: Shown): Row[] {
  const out: Row[] = [];
  let top = 0;
  let time = 0;
  let hidden = 0;
  let from = 0;
  let steps = 0;
  let chapter = 0;
  const chapters = page.chapters ?? [];
  const add = (row: Row) => { row.top = top; top += row.height; out.push(row); };
  const quiet = (to: number, ms: number) => {
    if (ms >= 1000 || hidden) add({ kind: "quiet", ms, from, to, hidden, top: 0, height: heights.quiet });
    hidden = 0;
  };
  const tell = (step: number) => {
    for (; chapter < chapters.length && chapters[chapter]!.step <= step; chapter++) {
      const { title } = chapters[chapter]!;
      const command = /^\S*\$ |^\(/.test(title);
      const more = command ? 0 : Math.min(3, Math.floor(title.length / shown.letters));
      add({ kind: "chapter", title, command, step, top: 0, height: command ? heights.command : heights.headline + 18 * more });
    }
  };
  for (let i = 0; i < page.steps.length; i++) {
    const step = page.steps[i]!;
    const begins = chapter < chapters.length && chapters[chapter]!.step <= i;
    if (begins) {
      quiet(i, 0);
      tell(i);
      from = i;
    }
    const shows = wanted(page, i, shown);
    if (!shows) continue;
    if (step.detail && !shown.detail && !shown.unfolded.has(i)) {
      if (step.kind === "delivery") continue; // the arrows of its write show it
      if (!hidden) from = i;
      hidden++;
      continue;
    }
    if (steps === shown.limit) {
      add({ kind: "more", left: page.steps.length - i, top: 0, height: heights.more });
      return out;
    }
    quiet(i, step.t - time);
    time = step.t;
    add({ kind: "step", step: i, top: 0, height: heights.step });
    steps++;
  }
  quiet(page.steps.length, 0);
  tell(Infinity);
  return out;
}

/** The place in a list of rows of the last one whose top is at or above y. */
export function rowAt(list: Row[], y: number): number {
  let low = 0;
  let high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (list[middle]!.top <= y) low = middle;
    else high = middle - 1;
  }
  return low;
}
