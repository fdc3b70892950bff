// Playing: the story goes on by itself until the reader touches something.
import { button, h, s } from "./dom.js";
import { kindClass } from "./glyphs.js";
import { failed, kindOf, laneName, nameOf, troubled } from "./labels.js";
import type { Store } from "./store.js";
import { clock, plain, short } from "./text.js";

export class Player {
  readonly element: HTMLElement;
  private words = h("p", { class: "sentence", "aria-live": "polite" });
  private slider = h("input", { type: "range", min: "0", step: "1", "aria-label": "Step of the story" });
  private play = button("Play", { class: "play" });
  private place = h("span", { class: "place" });
  private map = s("svg", { class: "map", "aria-hidden": "true", preserveAspectRatio: "none" });
  private speed = h("select", { "aria-label": "Speed" }, ...["0.5", "1", "2", "4"].map((v) => h("option", { value: v, selected: v === "1" }, `${v}×`)));
  private timer = 0;
  private byItself = false;
  private read?: string; // the note at which it stopped last, which it goes past

  constructor(private store: Store) {
    const go = (name: string, path: string, act: () => void) => button(name, { class: "icon", "aria-label": name, title: name, onclick: act }, icon(path));
    this.element = h("footer", { class: "player" }, this.words, h("div", { class: "controls" },
      go("First step", "M5 4v12M16 4L8 10l8 6z", () => store.go(store.steps[0] ?? 0)), go("Step back", "M14 4L6 10l8 6z", () => store.move(-1)), this.play, go("Next step", "M6 4l8 6-8 6z", () => store.move(1)),
      go("Last step", "M15 4v12M4 4l8 6-8 6z", () => store.go(store.steps[store.steps.length - 1] ?? 0)),
      h("div", { class: "track" }, this.map, this.slider), this.place, this.speed));
    this.play.addEventListener("click", () => (store.playing ? this.stop() : this.start(false)));
    this.slider.addEventListener("input", () => store.go(store.steps[Number(this.slider.value)] ?? 0));
    store.listen((change) => {
      if (change === "step") this.draw();
      if (change === "rows") this.drawTrack();
    });
    this.drawPlay();
    this.drawTrack();
  }

  /** Plays from the cursor on, or from the beginning if it is at the end. */
  start(byItself: boolean): void {
    const { store } = this;
    if (store.playing || store.steps.length < 2) return;
    if (store.place() === store.steps.length - 1) store.go(store.steps[0]!);
    store.playing = true;
    this.byItself = byItself;
    this.words.setAttribute("aria-live", "off");
    this.drawPlay();
    this.later();
  }

  stop(): void {
    if (!this.store.playing) return;
    clearTimeout(this.timer);
    this.store.playing = false;
    this.words.setAttribute("aria-live", "polite");
    this.drawPlay();
  }

  /** Stops what began by itself when the reader does anything but use the button for it. */
  touched(target: EventTarget | null): void {
    if (target instanceof Node && (this.play.contains(target) || this.speed.contains(target))) return;
    if (this.byItself || !(target instanceof Element && target.closest(".list, .state"))) this.stop();
  }

  private later(): void {
    const length = this.store.page.steps[this.store.step]?.text.length ?? 0;
    const wait = Math.min(2600, 1100 + 9 * length) / Number(this.speed.value);
    this.timer = window.setTimeout(() => {
      if (document.hidden) return this.later();
      const note = this.note();
      if (note !== undefined && note !== this.read) return this.stopAt(note);
      this.read = undefined;
      if (!this.store.move(1)) return this.stop();
      this.later();
    }, wait);
  }

  /** What is to be read before the next step, or after the last. */
  private note(): string | undefined {
    const { store } = this;
    const next = store.steps[store.place() + 1] ?? Infinity;
    const notes = (store.page.chapters ?? []).filter((c) => c.stop && c.step > store.step && c.step <= next);
    return notes.length ? notes.map((c) => c.title).join(" ") : undefined;
  }

  private stopAt(note: string): void {
    this.stop();
    this.read = note;
    this.words.className = "sentence note";
    this.words.replaceChildren(h("span", {}, plain(note)));
    this.words.title = plain(note);
  }

  private drawPlay(): void {
    const { playing } = this.store;
    const name = playing ? "Pause" : "Play";
    this.play.replaceChildren(icon(playing ? "M6 4v12M14 4v12" : "M6 3l10 7-10 7z"), name);
    this.play.setAttribute("aria-label", name);
    this.element.classList.toggle("playing", playing);
  }

  draw(): void {
    const { store } = this;
    const { page } = store;
    const step = page.steps[store.step];
    if (!step) return;
    const at = store.place();
    this.slider.value = String(at);
    this.slider.setAttribute("aria-valuetext", `step ${at + 1} of ${store.steps.length}: ${laneName(page, step.lane)} ${short(step.text).slice(0, 200)}`);
    this.place.textContent = `${at + 1} / ${store.steps.length} · ${clock(step.t)}`;
    this.place.title = `step ${at + 1} of the ${store.steps.length} that are shown; record ${step.n} of the log, as the address has it: #step=${step.n}`;
    const sentence = short(step.text.split("\n")[0] ?? "");
    const about = step.about === undefined ? undefined : h("span", { class: `swatch o-${kindClass(page, step.about)}`, title: `${kindOf(page, step.about)} ${nameOf(page, step.about)}` });
    this.words.className = `sentence${failed(step) ? " bad" : troubled(step) ? " warn" : ""}`;
    this.words.replaceChildren(h("span", {}, h("span", { class: "when" }, clock(step.t)), h("b", {}, laneName(page, step.lane)), " ", about, sentence));
    this.words.title = plain(step.text);
  }

  /** A strip that shows where chapters begin and where things go wrong. */
  private drawTrack(): void {
    const { store } = this;
    const n = Math.max(1, store.steps.length - 1);
    this.slider.max = String(n);
    this.map.setAttribute("viewBox", "0 0 1000 10");
    const bad = new Set<number>();
    const parts: SVGElement[] = [];
    store.steps.forEach((step, i) => {
      const x = Math.round((1000 * i) / n);
      if (!failed(store.page.steps[step]!) || bad.has(x)) return;
      bad.add(x);
      parts.push(s("rect", { class: "tick bad", x: x - 1, y: 1, width: 2.5, height: 8 }));
    });
    for (const chapter of store.page.chapters ?? []) {
      if (/^\S*\$ |^\(/.test(chapter.title)) continue;
      const at = store.steps.findIndex((step) => step >= chapter.step);
      if (at >= 0) parts.push(s("rect", { class: "tick", x: (1000 * at) / n - 1, y: 0, width: 2, height: 10 }));
    }
    this.map.replaceChildren(...parts);
    this.draw();
  }
}

function icon(path: string): SVGSVGElement {
  return s("svg", { width: 18, height: 18, viewBox: "0 0 20 20", class: "icon-sign", "aria-hidden": "true" }, s("path", { d: path }));
}
