// Lines to take along: where to crash in the story's language, and what plays the run again.
import { button, h } from "./dom.js";
import type { Obj, Page, Step } from "./model.js";

/** The call to the API server that a step is: whose, which, and how many of the same kind the actor makes before, since the user's last command. */
interface Call { actor: string; verb: string; resource: string; name: string; skip: number }

function callOf(page: Page, index: number): Call | undefined {
  const step = page.steps[index]!;
  const key = (s: Step) => (s.write && s.about !== undefined ? `${s.lane} ${s.write.verb} ${s.write.sub ?? ""} ${s.about}` : undefined);
  if (!step.write || step.about === undefined || !/^[\w.:-]+$/.test(page.objects[step.about]!.name)) return undefined;
  const since = (page.chapters ?? []).findLast((c) => c.step <= index && c.title.startsWith("$ "))?.step ?? 0;
  const skip = page.steps.slice(since, index).filter((s) => key(s) === key(step)).length;
  const o = page.objects[step.about]!;
  return { actor: page.lanes[step.lane]!.id, verb: step.write.verb, resource: plural(o) + (step.write.sub ? "/" + step.write.sub : ""), name: o.name, skip };
}

/** The line of a story that ends the step's actor at this write, or now; "" for who cannot crash. It belongs before the user's last command. */
export function crashLine(page: Page, index: number): string {
  const lane = page.lanes[page.steps[index]!.lane]!;
  if (lane.kind === "user" || lane.kind === "apiserver" || !/^[\w.:/-]+$/.test(lane.id)) return "";
  const call = callOf(page, index);
  if (!call) return `crash ${lane.id}`;
  return `crash ${call.actor} before ${call.verb} ${call.resource} ${call.name}${call.skip ? ` skip=${call.skip}` : ""}`;
}

/** The same as a test in Go, with what it is to apply left open. */
export function goTest(page: Page, index: number): string {
  const call = callOf(page, index);
  const actor = JSON.stringify(page.lanes[page.steps[index]!.lane]!.id);
  const before = call
    ? `\tc.Inject(engine.Fault{Actor: ${actor}, Verb: ${JSON.stringify(call.verb)}, Resource: ${JSON.stringify(call.resource)}, Name: ${JSON.stringify(call.name)}, ${call.skip ? `Skip: ${call.skip}, ` : ""}Crash: true})\n`
    : "";
  return `func TestACrashThere(t *testing.T) {\n\tc := storagesimtest.New(t, storagesim.Config{})\n\t// ${page.title.replace(/[^\x20-\x7e]/g, "?")}, record ${page.steps[index]!.n}\n${before}\tc.Apply(manifests)\n${call ? "" : `\tc.Crash(${actor})\n`}\tc.Settle()\n}\n`;
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
