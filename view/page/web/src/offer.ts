// A line that is given at an earlier step: it may fork from there, or be played at the newest step.
import { button, h, put } from "./dom.js";

/** Where a line is to be played. */
export type Place = "here" | "newest" | "nowhere";

export class Offer {
  readonly element = h("div", { class: "live-offer", role: "group", "aria-label": "Where to act", hidden: true });
  private answer?: (place: Place) => void;

  constructor() {
    this.element.addEventListener("keydown", (e) => {
      if (e.key === "Escape") this.close("nowhere");
      if (e.key !== "Tab") e.stopPropagation(); // keys do not move the cursor meanwhile
    });
  }

  /** Asks where to play a line. step is what the cursor stands at, and never says why nothing forks from there. */
  ask(line: string, step: string, never: string): Promise<Place> {
    this.close("nowhere");
    const back = document.activeElement;
    const choose = (place: Place, name: string, title: string, props = {}) => button(name, { class: "small", title, onclick: () => this.close(place), ...props });
    const here = choose("here", "From here: forks", "Play the lines again up to here in a new cluster, and go on differently. Watches of other clients end with 410.", { disabled: never !== "", "aria-describedby": never && "live-never" });
    const newest = choose("newest", "At the newest step", "Leave the cluster as it is");
    put(this.element, h("span", {}, h("code", {}, line), ` at ${step}:`), here, newest, choose("nowhere", "Cancel", "Do nothing (Esc)"), never !== "" && h("span", { class: "live-never", id: "live-never" }, `Cannot fork: ${never}.`));
    this.element.hidden = false;
    (never ? newest : here).focus();
    return new Promise((done) => {
      this.answer = (place) => {
        done(place);
        if (back instanceof HTMLElement) back.focus();
      };
    });
  }

  /** Ends the question, if there is one. */
  close(place: Place): void {
    const { answer } = this;
    this.answer = undefined;
    this.element.hidden = true;
    answer?.(place);
  }
}
