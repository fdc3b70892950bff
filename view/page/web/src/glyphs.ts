// The signs in the lanes. Each has a form of its own, so that none depends on its colour.
import { s } from "./dom.js";
import type { Geometry } from "./lanes.js";
import type { Page } from "./model.js";
import { failed } from "./labels.js";

/** Draws what a step is at the height y. */
export function sign(page: Page, index: number, g: Geometry, y: number): SVGGElement {
  const step = page.steps[index]!;
  const x = g.x[step.lane] ?? g.spine;
  const kind = step.about === undefined ? "none" : kindClass(page, step.about);
  const group = s("g", { class: `sign s-${step.kind} o-${kind}${failed(step) ? " bad" : ""}` });
  if (step.write) group.append(...write(x, g.spine, y, !!step.write.refused, !!step.write.gone));
  else if (step.event) group.append(...event(x, y, step.event.type === "Warning"));
  else if (step.call) group.append(...call(x, step.call.to === undefined ? undefined : g.x[step.call.to], y, failed(step)));
  else if (step.mount) group.append(...plug(x, y, step.mount.op === "unmount", !!step.mount.err));
  else group.append(...other(step.kind, x, g.spine, y));
  return group;
}

/** The class that gives an object's kind its colour. */
export function kindClass(page: Page, object: number): string {
  const known: { [short: string]: string } = { pvc: "pvc", pv: "pv", pod: "pod", node: "node", volumeattachment: "va" };
  return known[page.objects[object]!.short] ?? "other";
}

function line(x1: number, x2: number, y: number, cls = "line"): SVGLineElement {
  return s("line", { x1, x2, y1: y, y2: y, class: cls });
}

function tip(x: number, y: number, from: number): SVGPathElement {
  const d = from < x ? -1 : 1;
  return s("path", { d: `M${x} ${y}l${7 * d} -4v8z`, class: "tip" });
}

function cross(x: number, y: number, r = 5): SVGPathElement {
  return s("path", { d: `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x - r} ${y + r}l${2 * r} ${-2 * r}`, class: "cross" });
}

/** A dot, an arrow to the API server, and there a square, a cross for a refusal, or an empty square for what is gone. */
function write(x: number, spine: number, y: number, refused: boolean, gone: boolean): SVGElement[] {
  const d = x < spine ? -1 : 1;
  const dot = s("circle", { cx: x, cy: y, r: 5, class: refused ? "hollow" : "dot" });
  if (refused) return [line(x, spine + 9 * d, y, "line dashed"), dot, cross(spine, y)];
  return [line(x, spine + 12 * d, y), tip(spine + 7 * d, y, x), dot, s("rect", { x: spine - 6, y: y - 6, width: 12, height: 12, rx: 3, class: gone ? "hollow" : "dot" })];
}

/** A small flag; a warning is a triangle. */
function event(x: number, y: number, warning: boolean): SVGElement[] {
  if (warning) return [s("path", { d: `M${x} ${y - 8}l8.5 15h-17z`, class: "warning" }), s("path", { d: `M${x} ${y - 3}v4.5M${x} ${y + 4}v.6`, class: "mark" })];
  return [s("path", { d: `M${x - 4} ${y + 8}v-15h10l-3 4 3 4h-10`, class: "flag" })];
}

/** An arrow to the driver, whose end is round; a call of the process itself is a small loop. */
function call(x: number, to: number | undefined, y: number, bad: boolean): SVGElement[] {
  if (to === undefined || to === x) {
    return [s("path", { d: `M${x} ${y - 6}h5a6 6 0 0 1 0 12h-3`, class: "loop" }), tip(x - 1, y + 6, x + 8), ...(bad ? [cross(x + 14, y, 4)] : [])];
  }
  const d = x < to ? -1 : 1;
  return [
    line(x, to + 11 * d, y, "line call"), s("rect", { x: x - 4, y: y - 4, width: 8, height: 8, class: "diamond", transform: `rotate(45 ${x} ${y})` }),
    tip(to + 6 * d, y, x), bad ? cross(to, y) : s("circle", { cx: to, cy: y, r: 5, class: "hollow" }),
  ];
}

/** A plug; one that is pulled out is hollow. */
function plug(x: number, y: number, out: boolean, bad: boolean): SVGElement[] {
  const cls = out || bad ? "hollow" : "dot";
  return [
    s("path", { d: `M${x - 3} ${y - 9}v5M${x + 3} ${y - 9}v5M${x} ${y + 5}v5`, class: "prong" }),
    s("path", { d: `M${x - 6} ${y - 4}h12v4a6 6 0 0 1 -12 0z`, class: cls }), ...(bad ? [cross(x + 12, y, 4)] : []),
  ];
}

function other(kind: string, x: number, spine: number, y: number): SVGElement[] {
  switch (kind) {
    case "decision": // a bubble with a tick
      return [s("path", { d: `M${x - 9} ${y - 8}h18a3 3 0 0 1 3 3v8a3 3 0 0 1 -3 3h-9l-5 5v-5h-4a3 3 0 0 1 -3 -3v-8a3 3 0 0 1 3 -3z`, class: "bubble" }), s("path", { d: `M${x - 5} ${y - 1}l3.5 3.5 6.5 -6.5`, class: "mark" })];
    case "retry": // an arrow in a circle
      return [s("path", { d: `M${x + 6} ${y - 2}a6.5 6.5 0 1 0 -1 6`, class: "loop" }), s("path", { d: `M${x + 8} ${y - 6}l-1 6 -5.5 -2.5z`, class: "tip" })];
    case "down":
      return [s("circle", { cx: x, cy: y, r: 9, class: "stop" }), cross(x, y, 4)];
    case "up":
      return [s("circle", { cx: x, cy: y, r: 9, class: "start" }), s("path", { d: `M${x - 3} ${y - 4.5}l7 4.5 -7 4.5z`, class: "mark solid" })];
    case "fault":
      return [s("path", { d: `M${x + 2} ${y - 10}l-8 11h5l-2 9 8 -12h-5z`, class: "bolt" })];
    case "command":
      return [s("rect", { x: x - 9, y: y - 7, width: 18, height: 14, rx: 3, class: "bubble" }), s("path", { d: `M${x - 5} ${y - 3}l3 3 -3 3M${x + 1} ${y + 3}h4`, class: "mark" })];
    case "file":
      return [s("path", { d: `M${x - 5} ${y - 8}h7l4 4v12h-11z`, class: "hollow" })];
    case "delivery": {
      const d = spine < x ? -1 : 1;
      return [line(spine, x + 9 * d, y, "line thin"), tip(x + 4 * d, y, spine), s("circle", { cx: x, cy: y, r: 3.5, class: "hollow" })];
    }
    case "gap":
      return [s("path", { d: `M${x - 8} ${y}q4 -6 8 0t8 0`, class: "loop" })];
    default:
      return [s("circle", { cx: x, cy: y, r: 4, class: "hollow" })];
  }
}
