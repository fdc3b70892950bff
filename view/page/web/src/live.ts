// The page of a cluster that is served: it asks the server what has happened, and sends it lines of the story language.
import { button, h, put } from "./dom.js";
import { complete } from "./deliveries.js";
import type { Page } from "./model.js";
import { Offer } from "./offer.js";
import type { Store } from "./store.js";
import { plain } from "./text.js";

interface Model {
  version: string; // what the next request has, to get only what is new since then
  since?: string; // set if lines and page have only what is new since this version
  run: number; // from 1: each fork makes another
  lines: string[];
  page: Page;
  actors: string[];
  machines: string[];
  reads: string[]; // commands that change nothing
  looks?: boolean; // the server plays no command
  back: { from: number; never?: string }; // the first record from which a line may fork, or why none may
}

const pollEvery = 400; // ms
const againAfter = 1000; // ms, when the server does not answer

const resources = ["persistentvolumes", "persistentvolumeclaims", "pods", "nodes", "volumeattachments", "storageclasses"];

export class Live {
  private model?: Model;
  private store?: Store;
  private token = /^#token=(\w+)/.exec(location.hash)?.[1] ?? "";
  private banner = h("div", { class: "banner", role: "alert", hidden: true });
  private said = h("pre", { class: "live-said", "aria-live": "polite", tabindex: "0", "aria-label": "What the last command printed" });
  private lines = h("ol", { class: "live-lines", "aria-label": "The lines so far" });
  private line = h("input", { type: "text", class: "live-line", "aria-label": "A line of the story language", placeholder: "a line, for example: get pods", autocomplete: "off", spellcheck: "false" });
  private yaml = h("textarea", { class: "live-yaml", "aria-label": "YAML to apply", placeholder: "apiVersion: v1\nkind: PersistentVolumeClaim\n...", rows: "6" });
  private actor = h("select", { "aria-label": "Actor" });
  private resource = h("select", { "aria-label": "Resource" });
  private machine = h("select", { "aria-label": "Machine" });
  private object = h("select", { "aria-label": "Object" });
  private speed = h("select", { "aria-label": "Speed of steps" }, ...["1", "5", "20"].map((v) => h("option", { value: v, selected: v === "5" }, `${v} steps/s`)));
  private run = button("Run", { class: "small", title: "Take steps until you stop it" });
  private running = false;
  private offer = new Offer();
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private app: HTMLElement, private show: (page: Page, name: string) => Store) {}

  start(): void {
    this.run.addEventListener("click", () => this.toggle());
    this.line.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" || !this.line.value.trim()) return;
      const text = this.line.value;
      this.line.value = "";
      void this.do(text);
    });
    document.documentElement.classList.add("live");
    put(this.app, this.banner);
    void this.poll();
  }

  private async ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${this.token}` }, cache: "no-store" });
  }

  /** Asks again and again, and says so when there is no answer. */
  private async poll(): Promise<void> {
    let wait = pollEvery;
    try {
      if (!(await this.refresh())) return;
    } catch {
      this.warn("storagesim serve does not answer; perhaps it was stopped. The page shows what it had last, and tries again.");
      wait = againAfter;
    }
    setTimeout(() => void this.poll(), wait);
  }

  private warn(text: string): void {
    if (this.banner.textContent !== text) this.banner.textContent = text;
    this.banner.hidden = text === "";
  }

  /** Gets what is new; false if it makes no sense to ask again. */
  private async refresh(): Promise<boolean> {
    const answer = await this.ask(`/model?have=${this.model?.version ?? ""}`);
    if (answer.status === 401) {
      this.warn("The token in this address is missing or not the server's. Open the address that storagesim serve --page printed.");
      return false;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    this.warn("");
    if (answer.status === 204) return true;
    this.take((await answer.json()) as Model);
    return true;
  }

  /** Shows a model; false if it was overtaken: the page knows more, or it goes on from another model than the page's. */
  private take(model: Model): boolean {
    const had = this.model;
    if (model.since ? model.since !== had?.version : had && older(model, had)) return false;
    this.model = model;
    if (!model.since) put(this.lines);
    this.lines.append(...model.lines.map((line) => h("li", {}, h("code", {}, plain(line)))));
    if (model.since) this.store!.grow(model.page);
    else if (this.store) this.store.replace(complete(model.page), model.run > had!.run);
    else this.build(model.page);
    this.fill();
    return true;
  }

  private build(page: Page): void {
    this.store = this.show(page, `token=${this.token}`);
    if (!location.hash.includes("step=")) this.store.go(page.steps.length - 1); // what comes next is what one waits for
    this.app.prepend(this.banner);
    if (!this.model!.looks) this.app.querySelector("main")!.before(this.panel());
  }

  /** The buttons that act. */
  private panel(): HTMLElement {
    const act = (name: string, title: string, line: () => string) => button(name, { class: "small", title, onclick: () => void this.do(line()) });
    const { actor, resource, machine, object } = this;
    const node = () => machine.value.replace(/^node\//, "");
    const set = (name: string, ...parts: HTMLElement[]) => h("fieldset", {}, h("legend", {}, name), ...parts);
    return h("section", { class: "live-panel", "aria-label": "Act" },
      h("div", { class: "live-row" }, act("Step", "Take one step: step", () => "step"), this.run, this.speed, act("Settle", "Run until the cluster is at rest: settle", () => "settle"), act("+1 min", "Let a minute pass: run-for 1m", () => "run-for 1m"), this.line,
        button("Save story", { class: "small", title: "The lines so far, as a story", onclick: () => void this.save() })),
      this.offer.element, h("details", { class: "live-more" }, h("summary", {}, "Apply, break, ask why"), h("div", { class: "live-grid" },
        set("Actor", actor, act("Crash", "crash ACTOR", () => `crash ${actor.value}`), act("Stop", "stop ACTOR", () => `stop ${actor.value}`), act("Start", "start ACTOR", () => `start ${actor.value}`), resource,
          act("Next call fails", "fail ACTOR any RESOURCE", () => `fail ${actor.value} any ${resource.value}`), act("Hold cache", "hold ACTOR RESOURCE", () => `hold ${actor.value} ${resource.value}`),
          act("Lag", "lag ACTOR RESOURCE", () => `lag ${actor.value} ${resource.value}`), act("Release", "release ACTOR RESOURCE", () => `release ${actor.value} ${resource.value}`)),
        set("Machine", machine, act("Disk full", "break MACHINE create error=ENOSPC", () => `break ${machine.value} create error=ENOSPC`), act("Mounts fail", "break MACHINE mount error=EIO", () => `break ${machine.value} mount error=EIO`), act("Mend all", "mend", () => "mend"),
          act("Cut off", "The node is silent and its containers run on: stop kubelet/NODE", () => `stop kubelet/${node()}`), act("Join again", "start kubelet/NODE", () => `start kubelet/${node()}`),
          act("Switch off", "stop node/NODE", () => `stop ${machine.value}`), act("Switch on", "start node/NODE", () => `start ${machine.value}`)),
        set("Object", object, act("Why?", "explain OBJECT", () => `explain ${object.value}`), act("Delete", "delete OBJECT", () => `delete ${object.value}`)),
        set("Apply", this.yaml, button("Apply", { class: "small", onclick: () => void this.do("apply", this.yaml.value) })),
        set("Lines", this.lines))), this.said);
  }

  /** Puts the names that there are now into the choices. */
  private fill(): void {
    const { actors, machines } = this.model!;
    const { page } = this.store!;
    this.lines.scrollTop = this.lines.scrollHeight;
    const state = this.store!.replay.after(page.steps.length - 1);
    const objects = ["pod", "pvc", "pv", "node"].flatMap((kind) => page.objects.flatMap((o, i) =>
      o.short === kind && state.objects[i] !== undefined ? [[kind, ...(o.namespace && o.namespace !== "default" ? [o.namespace] : []), o.name].join("/")] : []));
    this.store!.replay.after(this.store!.step);
    for (const [select, names] of [[this.actor, actors], [this.resource, resources], [this.machine, machines], [this.object, objects]] as const) {
      const { value } = select;
      if (select.options.length === names.length && names.every((name, i) => select.options[i]!.value === name)) continue;
      put(select, ...names.map((name) => h("option", { value: name, selected: name === value }, plain(name))));
    }
  }

  /** Sends a line, after those that were sent before, and shows what it printed. At an earlier step it asks first whether to fork from there. */
  private do(line: string, input = ""): Promise<boolean> {
    this.offer.close("nowhere");
    const sent = this.queue.then(() => this.place(line, input));
    this.queue = sent;
    return sent;
  }

  private async place(line: string, input: string): Promise<boolean> {
    const store = this.store!;
    const step = store.page.steps[store.step];
    if (!step || store.place() >= store.steps.length - 1 || this.model!.reads.includes(line.trim().split(/\s+/)[0]!)) return this.send(line, input);
    await this.refresh().catch(() => false); // another client may have changed the cluster since the page last asked
    const { back } = this.model!;
    const never = back.never ?? (step.n < back.from ? "what happened there was before this page's first line" : "");
    const place = await this.offer.ask(plain(line), `step ${store.place() + 1} of ${store.steps.length}`, plain(never));
    if (place === "nowhere") return false;
    if (place === "here") return this.send(line, input, step.n);
    store.go(store.steps[store.steps.length - 1]!);
    return this.send(line, input);
  }

  /** Sends a line; from is the number of the record from which it is to fork, if it is. */
  private async send(line: string, input: string, from?: number): Promise<boolean> {
    try {
      const answer = await this.ask("/command", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ line, input, from, have: this.model!.version }) });
      const { output, error, model } = answer.ok ? ((await answer.json()) as { output: string; error?: string; model?: Model }) : { output: "", error: await answer.text(), model: undefined };
      this.said.classList.toggle("bad", !!error);
      this.said.textContent = error ? plain(error).trim() : output.split("\n").map(plain).join("\n").replace(/^\n+|\s+$/g, "") || `${plain(line)}: done`;
      if (model && !this.take(model)) await this.refresh();
      return !error;
    } catch {
      this.warn("storagesim serve does not answer: perhaps the line was not played.");
      return false;
    }
  }

  private toggle(): void {
    this.running = !this.running;
    this.run.textContent = this.running ? "Pause" : "Run";
    this.run.setAttribute("aria-pressed", String(this.running));
    if (this.running) void this.steps();
  }

  private async steps(): Promise<void> {
    while (this.running) {
      if (!(await this.do("step"))) this.toggle();
      await new Promise((done) => setTimeout(done, 1000 / Number(this.speed.value)));
    }
  }

  private async save(): Promise<void> {
    const answer = await this.ask("/story").catch(() => undefined);
    if (!answer?.ok) return this.warn("storagesim serve does not answer: the story was not saved.");
    const link = h("a", { download: "story.txt", href: URL.createObjectURL(new Blob([await answer.text()], { type: "text/plain" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}

/** Whether a model has less than another. A version begins with the numbers of the run and of the page in it, and says how much there is. */
function older(model: Model, than: Model): boolean {
  const [a, b] = [model, than].map((m) => m.version.split(".").map(Number)) as [number[], number[]];
  const differs = a.findIndex((n, i) => n !== b[i]);
  return differs >= 0 && a[differs]! < b[differs]!;
}
