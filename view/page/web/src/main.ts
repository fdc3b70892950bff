// The page of a story: it reads the values in the page, draws them, and plays.
import { Cards } from "./cards.js";
import { Detail } from "./detail.js";
import { h, put } from "./dom.js";
import { complete } from "./deliveries.js";
import { Live } from "./live.js";
import { List } from "./list.js";
import type { Page } from "./model.js";
import { Player } from "./player.js";
import { Store } from "./store.js";
import { count, plain, span } from "./text.js";
import { Tools } from "./tools.js";

const firstLook = 1500; // ms until the story begins by itself

function main(): void {
  const root = document.documentElement;
  const live = document.getElementById("app");
  if (root.dataset.live && live) return void new Live(live, (page, name) => show(live, page, name, false)).start();
  const sources = [...document.querySelectorAll<HTMLScriptElement>('script[type="application/json"]')];
  const app = document.getElementById("app");
  const pages = sources.map((source) => JSON.parse(source.textContent ?? "") as Page);
  if (!app || pages.some((page) => page.schema !== "storagesim.page/v1" || !page.steps?.length)) return; // the table stays
  const chosen = pages.length > 1 ? storyOf(location.hash, pages.length) : 0;
  if (pages.length > 1) addEventListener("hashchange", () => { if (storyOf(location.hash, pages.length) !== chosen) location.reload(); });
  document.documentElement.classList.add("live");
  const table = chosen === undefined ? undefined : app.querySelectorAll(":scope > section")[chosen];
  if (table) document.body.append(h("div", { class: "paper" }, table)); // what is printed
  if (chosen === undefined) put(app, contents(pages));
  else show(app, pages[chosen]!, pages.length > 1 ? `story=${chosen + 1}` : "", true);
}

/** Shows one story. name is what a fragment begins with if there are several. It plays by itself if it may. */
function show(app: HTMLElement, page: Page, name: string, plays: boolean): Store {
  complete(page);
  const store = new Store(page);
  const tools = new Tools(store);
  const list = new List(store);
  const player = new Player(store);
  const cards = new Cards(store);
  const detail = new Detail(store);
  put(app, header(page, store, tools, name.startsWith("story=")), h("main", {}, list.element, h("aside", { "aria-label": "State and change" }, cards.element, detail.element)), player.element);
  const linked = stepOf(page, location.hash);
  store.go(linked ?? store.steps[0] ?? 0);
  keys(store, player, tools, list);
  fragments(store, name);
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (linked === undefined && !calm && plays) begin(player);
  return store;
}

/** The list of several stories. */
function contents(pages: Page[]): HTMLElement {
  const items = pages.map((page, i) => h("li", {}, h("a", { href: `#story=${i + 1}` }, h("span", { class: "number" }, String(i + 1)), h("b", {}, plain(page.title)), h("span", {}, plain(page.intro ?? "")))));
  return h("div", { class: "contents" }, h("h1", {}, plain(document.title.replace(/ - storagesim$/, ""))), h("p", {}, "Each one plays by itself. Choose one:"), h("ol", {}, ...items));
}

/** The index of the story that a fragment names, if it names one. */
function storyOf(hash: string, stories: number): number | undefined {
  const n = Number(/^#story=(\d{1,3})(&|$)/.exec(hash)?.[1] ?? 0);
  return n >= 1 && n <= stories ? n - 1 : undefined;
}

function header(page: Page, store: Store, tools: Tools, others: boolean): HTMLElement {
  const about = h("span", { class: "about" });
  const tell = () => {
    const { steps } = store.page;
    about.textContent = `${count(store.steps.length, "step")} in ${span(steps.length ? steps[steps.length - 1]!.t - steps[0]!.t : 0)} of virtual time · Kubernetes ${plain(page.release)}`;
  };
  tell();
  store.listen((change) => { if (change === "page") tell(); });
  const intro = page.intro ?? "A simulated Kubernetes cluster. Each row is one thing that a component did; at the right is what exists after it, and what it changed.";
  const missing = page.missing?.length ? h("details", { class: "missing" }, h("summary", {}, count(page.missing.length, "note")), ...page.missing.map((m) => h("p", {}, plain(m)))) : undefined;
  return h("header", {}, h("div", { class: "head-words" }, others && h("a", { class: "others", href: "#" }, "All"), h("h1", {}, plain(page.title)), about, missing), tools.element, h("p", { class: "intro" }, plain(intro)));
}

/** Begins to play unless something is touched first; whatever is touched later stops it. */
function begin(player: Player): void {
  const timer = setTimeout(() => player.start(true), firstLook);
  for (const type of ["pointerdown", "keydown", "wheel", "touchstart"]) addEventListener(type, () => clearTimeout(timer), { capture: true, passive: true, once: true });
}

function keys(store: Store, player: Player, tools: Tools, list: List): void {
  for (const type of ["pointerdown", "wheel", "touchstart"]) addEventListener(type, (e) => player.touched(e.target), { capture: true, passive: true });
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const target = e.target instanceof Element ? e.target : undefined;
    const typing = target?.matches("input, select, textarea");
    const playing = store.playing;
    if (e.key !== "Tab" && !(e.key === " " && target?.matches("button"))) player.stop();
    if (typing) return;
    const row = target?.matches(".row-button");
    const act: { [key: string]: () => void } = {
      ArrowRight: () => store.move(1), ArrowDown: () => store.move(1), ArrowLeft: () => store.move(-1), ArrowUp: () => store.move(-1),
      PageDown: () => store.move(10), PageUp: () => store.move(-10), Home: () => store.go(store.steps[0] ?? 0), End: () => store.go(store.steps[store.steps.length - 1] ?? 0),
      "/": () => tools.search.focus(), Escape: () => { if (store.focus >= 0) store.look(store.focus); },
    };
    if (!target?.matches("button") || row) act[" "] = () => { if (!playing) player.start(false); };
    const found = act[e.key];
    if (!found) return;
    e.preventDefault();
    found();
    if (row) list.focusCurrent();
  });
}

/** The step that a fragment names by its number, if there is one: that, or the last before it. Deliveries have the number of the record before them. */
function stepOf(page: Page, hash: string): number | undefined {
  const n = /^#(?:\w+=\w+&)?step=(\d{1,9})$/.exec(hash)?.[1];
  if (n === undefined) return undefined;
  const at = page.steps.findLastIndex((step) => step.n <= Number(n) && step.kind !== "delivery");
  return Math.max(0, at);
}

/** Keeps the fragment at the step, and follows it. */
function fragments(store: Store, name: string): void {
  let timer = 0;
  let written = location.hash;
  store.listen((change) => {
    if (change !== "step") return;
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      written = `#${name && name + "&"}step=${store.page.steps[store.step]!.n}`;
      history.replaceState(null, "", written);
    }, 120);
  });
  addEventListener("hashchange", () => {
    if (location.hash === written) return;
    const step = stepOf(store.page, location.hash);
    if (step !== undefined) store.go(step);
  });
}

main();
