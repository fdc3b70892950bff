// Making elements. Text goes in as text nodes and attributes only: what a story says is never parsed as HTML.

type Child = Node | string | undefined | false;
type Props = { [name: string]: unknown };

/** Makes an HTML element. Properties that begin with "on" are listeners, false and undefined leave an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), props, children);
}

/** Makes an SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function fill<E extends Element>(element: E, props: Props, children: Child[]): E {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** Puts children in place of those that an element has. */
export function put(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((c): c is Node | string => !!c));
}

/** Lets a path break after its slashes, without a character that would be copied with it. */
export function breakable(text: string): Child[] {
  return text.split(/(?<=[/:])/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));
}

/** Makes a button with a name for those who do not see it. */
export function button(text: string, props: Props = {}, ...children: Child[]): HTMLButtonElement {
  return h("button", { type: "button", ...props }, ...(children.length ? children : [text]));
}
