// Lines to take along: where to crash in the story's language, and what plays the run again.
import { button, h } from "./dom.js";
import type { Obj, Page, Step } from "./model.js";

/** The line of a story that ends the step's actor at this write, or now; "" for who cannot crash. */
export function crashLine(page: Page, step: Step): string {
  const lane = page.lanes[step.lane]!;
  if (lane.kind === "user" || lane.kind === "apiserver" || /\s/.test(lane.id)) return "";
  if (!step.write || step.about === undefined) return `crash ${lane.id}`;
  const o = page.objects[step.about]!;
  const resource = plural(o) + (step.write.sub ? "/" + step.write.sub : "");
  if (/[\s'"#]/.test(o.name)) return `crash ${lane.id}`;
  return `crash ${lane.id} before ${step.write.verb} ${resource} ${o.name}`;
}

function plural(o: Obj): string {
  const kind = o.kind.toLowerCase();
  if (/(s|x|ch)$/.test(kind)) return kind + "es";
  return /[^aeiou]y$/.test(kind) ? kind.slice(0, -1) + "ies" : kind + "s";
}

/** A button that copies a line and says so; the line itself can be read beside it. */
export function copyButton(name: string, line: () => string): HTMLElement {
  const said = h("span", { class: "said", role: "status" });
  const act = button(name, { class: "copy", "aria-label": `Copy: ${name}`, title: line(), onclick: async () => {
    const text = line();
    said.textContent = (await toClipboard(text)) ? `Copied: ${text}` : text;
  } });
  return h("span", { class: "copy-box" }, act, said);
}

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "off", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
