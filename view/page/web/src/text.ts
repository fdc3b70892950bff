// Words and figures: names, times, and what is left of a hostile name.

/** Shows control characters, and those that turn the direction of writing, as escapes: a name cannot hide what it is. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** Cuts identifiers to their first eight digits, as the sentences do. */
export function short(name: string): string {
  return plain(name).replace(/\b([0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "$1").replace(/\b([0-9a-f]{8})[0-9a-f]{24,}\b/g, "$1");
}

/** The virtual time of a step, "0:01:41" or "0:01:41.5". */
export function clock(ms: number): string {
  const all = Math.floor(ms / 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  const rest = ms % 1000 ? "." + String(Math.round(ms % 1000)).padStart(3, "0").replace(/0+$/, "") : "";
  return `${Math.floor(all / 3600)}:${two(Math.floor(all / 60) % 60)}:${two(all % 60)}${rest}`;
}

/** A span of time in words: "500 ms", "101 s", "6 min 3 s", "1 h 2 min". */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 120) return `${Math.round(s * 10) / 10} s`;
  const join = (a: number, x: string, b: number, y: string) => (b ? `${a} ${x} ${b} ${y}` : `${a} ${x}`);
  if (s < 3600) return join(Math.floor(s / 60), "min", Math.round(s % 60), "s");
  return join(Math.floor(s / 3600), "h", Math.round(s / 60) % 60, "min");
}

/** "1 step", "2 steps". */
export function count(n: number, word: string): string {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
}
