// The objects that a step concerns: those it names, and those whose handle or uid a call carries.
import type { Page } from "./model.js";
import { text } from "./state.js";

const known = new WeakMap<Page, Map<string, number>>();

/** Handles of volumes and uids of claims, as calls have them, with the object of each. */
function handles(page: Page): Map<string, number> {
  let found = known.get(page);
  if (found) return found;
  found = new Map();
  for (const base of page.base ?? []) note(found, page, base.object, base.value);
  for (const step of page.steps) {
    const value = step.write?.created ? step.write.changes?.[0]?.value : undefined;
    if (value !== undefined && step.about !== undefined) note(found, page, step.about, value);
  }
  known.set(page, found);
  return found;
}

function note(found: Map<string, number>, page: Page, object: number, value: unknown): void {
  const { kind } = page.objects[object]!;
  const handle = text(value, "spec", "csi", "volumeHandle");
  if (kind === "PersistentVolume" && handle) found.set(handle, object);
  if (kind === "PersistentVolumeClaim") found.set(`pvc-${text(value, "metadata", "uid")}`, object);
}

/** The object that a step is about first, then the others. */
export function related(page: Page, index: number): number[] {
  const step = page.steps[index];
  if (!step) return [];
  const out = [...(step.about === undefined ? [] : [step.about]), ...(step.also ?? [])];
  for (const field of step.call ? ["volume_id", "name"] : []) {
    const object = handles(page).get(text(step.call!.request, field));
    if (object !== undefined && !out.includes(object)) out.push(object);
  }
  return out;
}
