// Columns: which actors are drawn, in which order, and where.
import type { Lane, Page } from "./model.js";
import { plain } from "./text.js";

/** A column has one actor, or several that are drawn as lines beside each other. */
export interface Column {
  title: string;
  lanes: number[];
  spine: boolean;
  /** Too many for lines of their own: one line stands for all. */
  folded: boolean;
  x: number;
  width: number;
}

export interface Geometry {
  columns: Column[];
  width: number;
  /** The middle of the API server's column. */
  spine: number;
  /** By lane: where its line is; undefined is a lane that is not drawn. */
  x: (number | undefined)[];
}

const most = 7; // lanes of a kind that have lines of their own

/** The columns of a page's actors: the API server in the middle, who asks for storage on its left, who gives it on its right. */
export function columns(page: Page, drawn: Set<number>): Omit<Column, "x" | "width">[] {
  const all = page.lanes.map((lane, index) => ({ lane, index })).filter(({ lane, index }) => drawn.has(index) && lane.kind !== "apiserver");
  const of = (test: (lane: Lane) => boolean) => all.filter(({ lane }) => test(lane)).map(({ index }) => index);
  const kubelets = of((l) => l.kind === "kubelet");
  const out: Omit<Column, "x" | "width">[] = [];
  const add = (title: string, lanes: number[]) => {
    if (lanes.length === 1 && title !== "drivers") title = plain(page.lanes[lanes[0]!]!.name);
    if (lanes.length) out.push({ title, lanes, spine: false, folded: lanes.length > most });
  };
  add("user", of((l) => l.kind === "user"));
  add("PV controller", of(isBinder));
  add("scheduler", of((l) => l.kind === "scheduler"));
  add("attach/ detach", of((l) => l.kind === "attachdetach"));
  add("others", of((l) => l.kind === "controller" && !isBinder(l)));
  add("programs", of((l) => l.kind === "program" || l.kind === "machine"));
  out.push({ title: "API server", lanes: [], spine: true, folded: false });
  add("provisioners", of((l) => l.kind === "provisioner"));
  add("sidecars", of((l) => l.kind === "sidecar"));
  if (kubelets.length > most) add(`${kubelets.length} kubelets`, kubelets);
  else for (const lane of kubelets) out.push({ title: `kubelet ${plain(page.lanes[lane]!.node ?? "")}`, lanes: [lane], spine: false, folded: false });
  add("drivers", of((l) => l.kind === "driver"));
  return out;
}

function isBinder(lane: Lane): boolean {
  return lane.kind === "controller" && lane.id === "persistent-volume-binder";
}

/** Divides a width among columns. Lines of one column are at most 14 apart. */
export function layout(page: Page, drawn: Set<number>, width: number): Geometry {
  const raw = columns(page, drawn);
  const weights = raw.map((c) => (c.spine ? 1 : 1 + 0.22 * Math.min(4, c.lanes.length - 1)));
  const sum = weights.reduce((a, b) => a + b, 0);
  const x: (number | undefined)[] = page.lanes.map(() => undefined);
  let left = 0;
  let spine = 0;
  const cols = raw.map((c, i) => {
    const column = { ...c, x: left, width: (width * weights[i]!) / sum };
    const middle = left + column.width / 2;
    if (c.spine) spine = middle;
    const gap = c.folded ? 0 : Math.min(16, (column.width * 0.74) / c.lanes.length);
    c.lanes.forEach((lane, n) => { x[lane] = middle + (n - (c.lanes.length - 1) / 2) * gap; });
    left += column.width;
    return column;
  });
  page.lanes.forEach((lane, i) => { if (lane.kind === "apiserver") x[i] = spine; });
  return { columns: cols, width, spine, x };
}

/** By lane: the steps [from, to) in which its process does not run. */
export function downs(page: Page): Map<number, [number, number][]> {
  const out = new Map<number, [number, number][]>();
  page.steps.forEach((step, i) => {
    const list = out.get(step.lane) ?? [];
    const last = list[list.length - 1];
    if (step.kind === "down" && !(last && last[1] === Infinity)) out.set(step.lane, [...list, [i, Infinity]]);
    if (step.kind === "up" && last && last[1] === Infinity) last[1] = i;
  });
  return out;
}
