// Deliveries: when a cache of a controller has seen a write.
import { kindOf, nameOf } from "./labels.js";
import type { Page } from "./model.js";

const known = new WeakMap<Page, Map<number, { step: number; lane: number }[]>>();

/** Gives each delivery the object of its write, and a sentence if it has none. from is the first step that may have none. */
export function complete(page: Page, from = 0): Page {
  for (let i = from; i < page.steps.length; i++) {
    const step = page.steps[i]!;
    const { delivery } = step;
    if (!delivery) continue;
    const about = delivery.of === undefined ? undefined : page.steps[delivery.of]?.about;
    step.about ??= about;
    step.text ||= step.about === undefined ? `sees version ${delivery.rv} of its ${delivery.resource}` : `sees ${kindOf(page, step.about)} ${nameOf(page, step.about)} in version ${delivery.rv}`;
  }
  return page;
}

/** The deliveries of a step's write to the caches of others, in order. */
export function deliveries(page: Page, write: number): { step: number; lane: number }[] {
  let found = known.get(page);
  if (!found) {
    found = new Map();
    for (const [i, step] of page.steps.entries()) {
      const of = step.delivery?.of;
      if (of === undefined) continue;
      const list = found.get(of) ?? [];
      if (!list.length) found.set(of, list);
      list.push({ step: i, lane: step.lane });
    }
    known.set(page, found);
  }
  return found.get(write) ?? [];
}
