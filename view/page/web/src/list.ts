// The lanes: a list of which only the rows in sight are drawn.
import { deliveries } from "./deliveries.js";
import { h, put, s } from "./dom.js";
import { kindClass, sign } from "./glyphs.js";
import { failed, kindOf, label, laneName, nameOf, troubled } from "./labels.js";
import { layout, type Geometry } from "./lanes.js";
import type { Step } from "./model.js";
import { heights, rowAt, type Row } from "./rows.js";
import type { Store } from "./store.js";
import { clock, count, plain, span } from "./text.js";

const timeWidth = 66;
const beyond = 300; // pixels above and below that are drawn too

export class List {
  readonly element: HTMLElement;
  private head = h("div", { class: "lanes-head", "aria-hidden": "true" });
  private scroll = h("div", { class: "scroll", tabindex: "-1" });
  private space = h("div", { class: "space", role: "list", "aria-label": "Steps of the story" });
  private ask = h("div", { class: "ask", hidden: true }, h("span", {}, "What happens next?"), h("button", { type: "button", class: "copy", onclick: () => this.store.move(1) }, "Show it"));
  private over = s("svg", { class: "over", "aria-hidden": "true" });
  private drawn = new Map<number, { element: HTMLElement; picture: string }>();
  private steps?: Step[]; // those that are drawn: a page that grows keeps its list
  private geometry?: Geometry;
  private lanesWidth = 0;

  constructor(private store: Store) {
    this.space.append(this.over, this.ask);
    this.scroll.append(this.space);
    this.element = h("section", { class: "list", "aria-label": "Who does what" }, this.head, this.scroll);
    this.scroll.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.measure()).observe(this.scroll);
    store.listen((change) => {
      if (change === "rows") this.measure(true);
      if (change === "marks") this.redraw();
      if (change === "step") {
        if (store.guess) this.redraw();
        this.mark();
        this.follow();
      }
    });
  }

  /** Puts the cursor's row in sight, with some of what comes next. */
  follow(): void {
    const at = this.store.rows.find((row) => row.kind === "step" && row.step === this.store.step);
    if (!at) return;
    const box = this.scroll;
    const margin = Math.min(140, box.clientHeight / 3);
    if (at.top < box.scrollTop + margin / 2) box.scrollTop = at.top - margin;
    else if (at.top + at.height > box.scrollTop + box.clientHeight - margin) box.scrollTop = at.top + at.height - box.clientHeight + margin;
    this.draw();
  }

  focusCurrent(): void {
    this.follow();
    this.space.querySelector<HTMLElement>("[aria-current=step]")?.focus({ preventScroll: true });
  }

  private measure(again = false): void {
    const width = this.scroll.clientWidth;
    const used = new Set<number>();
    for (const i of this.store.steps) {
      const step = this.store.page.steps[i]!;
      used.add(step.lane);
      if (step.call?.to !== undefined) used.add(step.call.to);
    }
    const columns = layout(this.store.page, used, 1).columns.length;
    const upright = (width - timeWidth - 300) / columns >= 62;
    const text = upright ? Math.max(300, width * 0.36) : Math.max(150, Math.min(440, width * 0.45));
    // On a narrow screen the lines come closer, so that there is room for words beside them.
    const close = Math.min(columns * 15, Math.max(columns * 8, width - timeWidth - 120));
    const lanes = Math.round(Math.max(close, Math.min(width - timeWidth - text, columns * 104)));
    this.element.classList.toggle("tight", width - timeWidth - lanes < 260);
    const letters = Math.max(20, Math.floor((width - 40) / 8.2));
    if (letters !== this.store.shown.letters) {
      this.store.shown.letters = letters;
      return this.store.refilter();
    }
    if (!again && lanes === this.lanesWidth && this.drawn.size) return this.draw();
    this.lanesWidth = lanes;
    const geometry = layout(this.store.page, used, lanes);
    if (this.steps === this.store.page.steps && JSON.stringify(geometry) === JSON.stringify(this.geometry)) this.redraw((index, picture) => picture === this.picture(index));
    else {
      this.geometry = geometry;
      this.element.style.setProperty("--lanes", `${lanes}px`);
      this.drawHead();
      this.redraw();
    }
    this.follow();
  }

  /** What a row looks like, as long as the lanes and the marks are the same: it shows its time if the row before has another. */
  private picture(index: number): string {
    return JSON.stringify(this.store.rows.slice(Math.max(0, index - 1), index + 1));
  }

  private drawHead(): void {
    const longest = (title: string) => Math.max(...title.split(/[\s]/).map((word) => word.length));
    const narrow = this.geometry!.columns.some((c) => longest(c.title) * 5.7 > c.width + 4);
    this.head.classList.toggle("slanted", narrow);
    put(this.head, ...this.geometry!.columns.map((c) => {
      const cell = h("div", { class: c.spine ? "col spine" : "col", title: c.lanes.map((l) => plain(this.store.page.lanes[l]!.id)).join("\n") },
        h("span", {}, ...c.title.split(/\s+/).flatMap((word, i) => [i ? " " : "", h("span", { class: "word" }, word)]))); // no word is divided, as "node-1" would be
      cell.style.left = `${timeWidth + c.x}px`;
      cell.style.width = `${c.width}px`;
      return cell;
    }));
  }

  /** Draws the rows anew, except those to be kept. */
  private redraw(keep: (index: number, picture: string) => boolean = () => false): void {
    for (const [index, { element, picture }] of this.drawn) {
      if (keep(index, picture)) continue;
      element.remove();
      this.drawn.delete(index);
    }
    const last = this.store.rows[this.store.rows.length - 1];
    this.space.style.height = `${last ? last.top + last.height + 60 : 0}px`;
    this.draw();
  }

  private draw(): void {
    if (!this.geometry) return;
    this.steps = this.store.page.steps;
    const list = this.store.rows;
    const from = rowAt(list, this.scroll.scrollTop - beyond);
    const to = rowAt(list, this.scroll.scrollTop + this.scroll.clientHeight + beyond);
    for (const [index, { element }] of this.drawn) {
      if (index < from || index > to) {
        element.remove();
        this.drawn.delete(index);
      }
    }
    const fresh: HTMLElement[] = [];
    for (let i = from; i <= to && list.length; i++) {
      if (this.drawn.has(i)) continue;
      const element = this.row(list[i]!, i);
      this.drawn.set(i, { element, picture: this.picture(i) });
      fresh.push(element);
    }
    this.space.append(...fresh);
    this.mark();
  }

  /** Marks the cursor's row, and draws who sees its write later. */
  private mark(): void {
    if (!this.geometry) return; // the list has no size yet
    const store = this.store;
    for (const [index, { element }] of this.drawn) {
      const row = store.rows[index]!;
      if (row.kind !== "step") continue;
      const current = row.step === store.step;
      element.classList.toggle("current", current);
      element.classList.toggle("past", row.step < store.step);
      const button = element.querySelector<HTMLElement>(".row-button")!;
      if (current) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
      button.tabIndex = current || (store.step < 0 && index === 0) ? 0 : -1;
    }
    this.drawDeliveries();
    this.askNext();
  }

  /** Stands in the place of the next step while the reader guesses. */
  private askNext(): void {
    const { store } = this;
    const next = store.steps[store.place() + 1];
    const row = store.rows.find((r) => r.kind === "step" && r.step === next);
    this.ask.hidden = !store.guess || !row;
    if (row) this.ask.style.top = `${row.top}px`;
  }

  private row(row: Row, index: number): HTMLElement {
    const element = row.kind === "step" ? this.stepRow(row.step) : row.kind === "chapter" ? this.chapterRow(row) : row.kind === "quiet" ? this.quietRow(row) : this.moreRow(row);
    element.setAttribute("role", "listitem");
    element.style.top = `${row.top}px`;
    element.style.height = `${row.height}px`;
    if (this.store.guess && firstStep(row) > this.store.step) element.classList.add("unknown");
    element.dataset.row = String(index);
    return element;
  }

  private stepRow(index: number): HTMLElement {
    const { store } = this;
    const { page } = store;
    const step = page.steps[index]!;
    const svg = this.lines(index, heights.step);
    svg.append(sign(page, index, this.geometry!, heights.step / 2));
    const what = label(page, index);
    const to = step.call?.to === undefined ? "" : ` → ${laneName(page, step.call.to)}`;
    const name = `${clock(step.t)}, ${laneName(page, step.lane)}${to}: ${step.about === undefined ? "" : `${kindOf(page, step.about)} ${nameOf(page, step.about)} `}${what}`;
    const button = h("button", { type: "button", class: "row-button", tabindex: "-1", "aria-label": name, title: name, onclick: () => store.go(index) });
    const row = h("div", { class: "row" }, button, h("span", { class: "time", "aria-hidden": "true" }, this.time(index)), svg, this.words(step, what));
    if (failed(step)) row.classList.add("bad");
    else if (troubled(step)) row.classList.add("warn");
    if (step.detail) row.classList.add("detail");
    if (!store.concerns(index) || (store.found && !store.found.has(index))) row.classList.add("dim");
    if (store.found?.has(index)) row.classList.add("found");
    return row;
  }

  /** The time stands where it differs from the row above. */
  private time(index: number): string {
    const { steps } = this.store;
    const place = steps.indexOf(index);
    const before = place > 0 ? this.store.page.steps[steps[place - 1]!]!.t : -1;
    const { t } = this.store.page.steps[index]!;
    return t === before ? "" : clock(t);
  }

  private words(step: Step, what: string): HTMLElement {
    const { page } = this.store;
    const who = h("span", { class: "who" }, laneName(page, step.lane));
    const object = step.about === undefined ? undefined : h("button", {
      type: "button", tabindex: "-1", class: `chip o-${kindClass(page, step.about)}`, title: `${plain(page.objects[step.about]!.kind)} ${plain(page.objects[step.about]!.name)}: show only what is about it`,
      onclick: () => this.store.look(step.about!),
    }, h("b", {}, kindOf(page, step.about)), " ", nameOf(page, step.about));
    const to = step.call?.to !== undefined ? h("span", { class: "who" }, "→ ", laneName(page, step.call.to)) : undefined;
    return h("span", { class: "words" }, h("span", { class: "line1" }, who, object ?? to), h("span", { class: "line2" }, what));
  }

  private lines(step: number, height: number): SVGSVGElement {
    const geometry = this.geometry!;
    const svg = s("svg", { class: "signs", width: this.lanesWidth, height, "aria-hidden": "true" });
    for (const column of geometry.columns) {
      if (column.spine) svg.append(s("rect", { class: "spine", x: geometry.spine - 3, y: 0, width: 6, height }));
      for (const lane of column.folded ? column.lanes.slice(0, 1) : column.lanes) {
        const x = geometry.x[lane]!;
        const down = column.folded ? column.lanes.every((l) => this.isDown(l, step)) : this.isDown(lane, step);
        if (down) svg.append(s("rect", { class: "down-band", x: x - 6, y: 0, width: 12, height }));
        svg.append(s("line", { class: down ? "lane down" : "lane", x1: x, x2: x, y1: 0, y2: height }));
      }
    }
    return svg;
  }

  private isDown(lane: number, step: number): boolean {
    return (this.store.downs.get(lane) ?? []).some(([from, to]) => step >= from && step < to);
  }

  private chapterRow(row: Row & { kind: "chapter" }): HTMLElement {
    const words = row.command ? h("code", {}, plain(row.title)) : h("span", { role: "heading", "aria-level": "2" }, plain(row.title));
    return h("div", { class: row.command ? "chapter command" : "chapter" }, words);
  }

  private quietRow(row: Row & { kind: "quiet" }): HTMLElement {
    const element = h("div", { class: "quiet" });
    const later = row.ms >= 1000 ? `… ${span(row.ms)} later` : "";
    element.append(this.lines(row.from, row.height));
    const words = h("span", { class: "quiet-words" });
    if (later) words.append(h("span", {}, later));
    if (row.hidden) {
      words.append(h("button", { type: "button", tabindex: "-1", class: "unfold", "aria-label": `Show ${count(row.hidden, "detail")}`, onclick: () => this.unfold(row.from, row.to) }, `+ ${count(row.hidden, "detail")}`));
    }
    element.append(words);
    return element;
  }

  private unfold(from: number, to: number): void {
    for (let i = from; i < to; i++) if (this.store.page.steps[i]!.kind !== "delivery") this.store.shown.unfolded.add(i);
    this.store.refilter();
  }

  private moreRow(row: Row & { kind: "more" }): HTMLElement {
    const show = () => {
      this.store.shown.limit += 5000;
      this.store.refilter();
    };
    return h("div", { class: "more" }, h("button", { type: "button", onclick: show }, `${count(row.left, "more step")}: show the next 5,000`));
  }

  /** Thin arrows from the cursor's write to the lanes whose caches see it later. */
  private drawDeliveries(): void {
    const { store } = this;
    const from = store.rows.find((row) => row.kind === "step" && row.step === store.step);
    const { geometry } = this;
    put(this.over);
    if (!geometry || !from || !store.page.steps[store.step]?.write) return;
    this.over.setAttribute("height", this.space.style.height);
    this.over.setAttribute("width", String(this.lanesWidth));
    const y0 = from.top + from.height / 2 + 7;
    for (const { step, lane } of deliveries(store.page, store.step)) {
      const x = geometry.x[lane];
      const row = store.rows.find((r) => r.kind === "step" && r.step >= step);
      if (x === undefined || !row) continue;
      const own = row.kind === "step" && row.step === step; // that row has the arrow to the lane
      const y = own ? row.top + row.height / 2 : row.top;
      this.over.append(s("path", { class: "seen", d: own ? `M${geometry.spine} ${y0}V${y}` : `M${geometry.spine} ${y0}C${geometry.spine} ${y} ${geometry.spine} ${y} ${x} ${y}` }));
      if (!own) this.over.append(s("circle", { class: "seen-end", cx: x, cy: y, r: 3 }));
    }
  }
}

function firstStep(row: Row): number {
  return row.kind === "step" || row.kind === "chapter" ? row.step : row.kind === "quiet" ? row.to : Infinity;
}
