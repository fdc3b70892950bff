// What the step at the cursor is: the difference that it made, why, and what can be done with it.
import { copyButton, crashLine, goTest } from "./copy.js";
import { deliveries } from "./deliveries.js";
import { breakable, h, put } from "./dom.js";
import { kindClass } from "./glyphs.js";
import { kindOf, laneName, nameOf } from "./labels.js";
import type { Page, Step } from "./model.js";
import type { Store } from "./store.js";
import { count, plain, short, span } from "./text.js";
import { difference, lines, type Line } from "./yaml.js";

const mostLines = 400;

export class Detail {
  readonly element: HTMLElement;
  private body = h("div", { class: "detail-body" });

  constructor(private store: Store) {
    this.element = h("section", { class: "detail-pane", "aria-label": "This step" }, this.body);
    store.listen((change) => {
      if (change === "step" || change === "marks") this.draw();
    });
  }

  draw(): void {
    const { store } = this;
    const step = store.page.steps[store.step];
    if (!step) return put(this.body);
    put(this.body, this.title(step), ...this.parts(step), this.object(), this.actions(step));
    this.body.scrollTop = 0;
  }

  private title(step: Step): HTMLElement {
    const about = step.about === undefined ? undefined : h("span", { class: `chip o-${kindClass(this.store.page, step.about)}` }, h("b", {}, kindOf(this.store.page, step.about)), " ", nameOf(this.store.page, step.about));
    return h("h2", {}, titleOf(step), " ", about);
  }

  private parts(step: Step): (HTMLElement | undefined)[] {
    const { store } = this;
    const out: (HTMLElement | undefined)[] = [];
    if (step.write) out.push(...this.write(step));
    if (step.decision) out.push(...decision(step.decision));
    if (step.event) out.push(quote(`${step.event.type} ${step.event.reason}`, step.event.message));
    if (step.call) out.push(...call(store.page, step));
    if (step.mount) out.push(facts([["machine", step.mount.machine], ["from", step.mount.source], ["to", step.mount.target], ["volume", step.mount.volume ?? ""]]), failure(step.mount.err));
    if (step.command) out.push(facts([["machine", step.command.machine ?? ""]]), h("pre", { class: "yaml" }, plain(step.command.argv.join(" "))), failure(step.command.err));
    if (step.file) out.push(facts([["machine", step.file.machine], ["path", step.file.path], ["volume", step.file.volume ?? ""]]));
    if (step.delivery) out.push(h("p", {}, `From here on its cache of ${plain(step.delivery.resource)} has version ${step.delivery.rv}.`));
    if (!step.write && !step.event && !step.mount && !step.call && !step.decision?.candidates?.length && !step.delivery) out.push(h("p", {}, short(step.text)));
    return out;
  }

  private write(step: Step): (HTMLElement | undefined)[] {
    const { store } = this;
    const w = step.write!;
    const request = `${w.verb}${w.sub ? " of " + w.sub : ""}${w.rv ? `, version ${w.rv}` : ""}`;
    if (w.refused) return [failure(`${w.refused.code} ${w.refused.reason}: ${w.refused.message}`), h("p", { class: "hint" }, plain(request))];
    if (step.about === undefined) return [];
    const before = store.step > 0 || store.page.base ? store.replay.object(step.about, store.step - 1) : undefined;
    const after = store.replay.object(step.about, store.step);
    const diff = difference(before, after);
    return [h("p", { class: "hint" }, plain(request)), diff.length ? yaml(diff, "What changed") : h("p", {}, "Only its version changed."), this.seen()];
  }

  private seen(): HTMLElement | undefined {
    const list = deliveries(this.store.page, this.store.step);
    if (!list.length) return undefined;
    const t0 = this.store.page.steps[this.store.step]!.t;
    const items = list.slice(0, 30).map((d) => {
      const ms = this.store.page.steps[d.step]!.t - t0;
      return h("li", {}, `${laneName(this.store.page, d.lane)}, ${ms ? span(ms) + " later" : count(d.step - this.store.step, "step") + " later"}`);
    });
    return h("div", {}, h("h3", {}, "Who sees it"), h("ul", { class: "plain" }, ...items));
  }

  /** The object that is looked at, whole. */
  private object(): HTMLElement | undefined {
    const { store } = this;
    if (store.focus < 0) return undefined;
    const value = store.replay.object(store.focus, store.step);
    return h("div", {}, h("h3", {}, `${kindOf(store.page, store.focus)} ${nameOf(store.page, store.focus)} now`), value === undefined ? h("p", { class: "hint" }, "It does not exist at this step, or the page does not have its value.") : yaml(lines(value), "The object"));
  }

  /** Buttons that copy: what a story says to crash here, how to play this again, where this step is. */
  private actions(step: Step): HTMLElement {
    const { page } = this.store;
    const crash = crashLine(page, this.store.step);
    const row = h("div", { class: "actions" }, h("span", { class: "hint" }, "Copy"));
    if (crash) row.append(copyButton("crash here", () => crash), copyButton("as a Go test", () => goTest(page, this.store.step)));
    if (page.repeat) row.append(copyButton("repeat line", () => page.repeat!));
    row.append(copyButton("link", () => location.href.replace(/#.*/, "") + `#step=${step.n}`));
    return row;
  }
}

function titleOf(step: Step): string {
  if (step.write?.refused) return "Refused";
  if (step.write?.created) return "New object";
  if (step.write?.gone) return "Removed";
  const names: { [kind: string]: string } = {
    write: "What changed", event: "Event", decision: "Why", call: "Call", retry: "Retry", down: "Process ends", up: "Process starts", fault: "Fault", mount: "Mount", command: "Command", file: "File", delivery: "Seen", gap: "Not kept",
  };
  return names[step.kind] ?? "Step";
}

type Decision = NonNullable<Step["decision"]>;

function decision(d: Decision): (HTMLElement | undefined)[] {
  const link = d.source && /^https:\/\//.test(d.source) ? h("a", { href: d.source, target: "_blank", rel: "noopener noreferrer" }, plain(d.function ?? "source")) : d.function ? h("code", {}, plain(d.function)) : undefined;
  const rule = h("p", { class: "rule" }, d.rule ? h("span", {}, h("b", {}, "Rule "), plain(d.rule)) : undefined, link ? h("span", {}, h("b", {}, d.rule ? " in " : "In "), link) : undefined);
  const more = d.more ? h("p", { class: "hint" }, `${count(d.more, "more candidate")} left out`) : undefined;
  const inner = (d.volumes ?? []).flatMap((v) => (v ? [h("h3", {}, `The volume for claim ${short(v.for ?? "")}`), ...decision(v)] : []));
  return [d.rule || link ? rule : undefined, d.candidates?.length ? candidates(d.candidates, d.chosen) : undefined, more, ...inner];
}

/** The table of what could have been taken. */
function candidates(list: NonNullable<Decision["candidates"]>, chosen?: string): HTMLElement {
  const plugins = [...new Set(list.flatMap((c) => Object.keys(c.scores ?? {})))];
  const scored = list.some((c) => c.score !== undefined);
  const reasoned = list.some((c) => c.filter || c.reason);
  const th = (text: string) => h("th", { scope: "col" }, text);
  const head = h("tr", {}, th(""), th("candidate"), scored && th("score"), ...plugins.map((p) => th(plain(p))), reasoned && th("why"));
  const rows = list.map((c) => {
    const taken = c.name === chosen;
    return h("tr", { class: taken ? "taken" : c.ok ? "" : "refused" }, h("td", {}, h("span", { role: "img", "aria-label": taken ? "taken" : c.ok ? "possible" : "not possible" }, taken ? "✓" : c.ok ? "·" : "✕")), h("td", {}, short(c.name)),
      scored && h("td", { class: "num" }, c.score === undefined ? "" : String(c.score)), ...plugins.map((p) => h("td", { class: "num" }, String(c.scores?.[p] ?? ""))), reasoned && h("td", {}, c.filter ? h("b", {}, plain(c.filter), " ") : undefined, short(c.reason ?? "")));
  });
  return h("div", { class: "table-box" }, h("table", { class: "candidates" }, h("thead", {}, head), h("tbody", {}, ...rows)));
}

function call(page: Page, step: Step): (HTMLElement | undefined)[] {
  const c = step.call!;
  const to = c.to === undefined ? c.driver : laneName(page, c.to);
  const out: (HTMLElement | undefined)[] = [facts([["to", to], ["method", [c.service, c.method].filter((p) => p).join("/")], ["answer", c.code || "none"], ["took", c.tookMs ? span(c.tookMs) : ""], ["fault", c.fault ?? ""]]), failure(c.err)];
  if (c.request !== undefined && Object.keys(c.request as object).length) out.push(h("h3", {}, "Request"), yaml(lines(c.request), "Request"));
  if (c.answer !== undefined && Object.keys(c.answer as object).length) out.push(h("h3", {}, "Answer"), yaml(lines(c.answer), "Answer"));
  return out;
}

function facts(list: [string, string][]): HTMLElement {
  return h("dl", {}, ...list.filter(([, v]) => v).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, ...breakable(plain(value)))]));
}

function quote(head: string, message: string): HTMLElement {
  return h("div", { class: "quote" }, h("b", {}, plain(head)), h("p", {}, plain(message)));
}

function failure(message?: string): HTMLElement | undefined {
  return message ? h("pre", { class: "failure" }, plain(message)) : undefined;
}

/** Lines as text, each with its sign. */
function yaml(list: Line[], name: string): HTMLElement {
  const box = h("pre", { class: "yaml", tabindex: "0", role: "region", "aria-label": name });
  for (const line of list.slice(0, mostLines)) {
    const cls = line.sign === "+" ? "plus" : line.sign === "-" ? "minus" : "same";
    box.append(h("span", { class: cls }, `${line.sign} ${"  ".repeat(line.indent)}${line.text}\n`));
  }
  if (list.length > mostLines) box.append(`… ${count(list.length - mostLines, "more line")}`);
  return box;
}
