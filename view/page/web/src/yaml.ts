// Values in the form of YAML, and the difference of two of them.
import type { Value } from "./state.js";
import { plain } from "./text.js";

/** A line of a difference. */
export interface Line { sign: "+" | "-" | " "; indent: number; text: string }

const hidden = new Set(["resourceVersion", "managedFields"]);

/** All lines of a value. */
export function lines(value: Value, sign: Line["sign"] = " "): Line[] {
  const out: Line[] = [];
  print(out, value, 0, sign);
  return out;
}

function print(out: Line[], value: Value, indent: number, sign: Line["sign"]): void {
  if (Array.isArray(value)) for (const item of value) printItem(out, item, indent, sign);
  else if (isObject(value)) for (const [key, inner] of entries(value)) printKey(out, key, inner, indent, sign);
  else out.push({ sign, indent, text: scalar(value) });
}

function printKey(out: Line[], key: string, value: Value, indent: number, sign: Line["sign"]): void {
  if (isEmpty(value) || !isNested(value)) out.push({ sign, indent, text: `${scalar(key)}: ${scalar(value)}` });
  else {
    out.push({ sign, indent, text: `${scalar(key)}:` });
    print(out, value, indent + (Array.isArray(value) ? 0 : 1), sign);
  }
}

function printItem(out: Line[], item: Value, indent: number, sign: Line["sign"]): void {
  if (isEmpty(item) || !isNested(item)) {
    out.push({ sign, indent, text: `- ${scalar(item)}` });
    return;
  }
  const from = out.length;
  print(out, item, indent + 1, sign);
  const first = out[from];
  if (first) {
    first.indent = indent;
    first.text = `- ${first.text}`;
  }
}

/** The lines that differ between two values, with the names that lead to them. */
export function difference(before: Value, after: Value): Line[] {
  const out: Line[] = [];
  if (before === undefined) return lines(after, "+");
  if (after === undefined) return lines(before, "-");
  compare(out, before, after, 0);
  return out;
}

function compare(out: Line[], before: Value, after: Value, indent: number): void {
  if (Array.isArray(before) && Array.isArray(after)) compareLists(out, before, after, indent);
  else if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) if (!hidden.has(key)) compareKey(out, key, before, after, indent);
  } else {
    print(out, before, indent, "-");
    print(out, after, indent, "+");
  }
}

function compareKey(out: Line[], key: string, before: { [key: string]: Value }, after: { [key: string]: Value }, indent: number): void {
  const had = Object.hasOwn(before, key);
  const has = Object.hasOwn(after, key);
  const a = before[key];
  const b = after[key];
  if (had && has && same(a, b)) return;
  if (had && has && isNested(a) && isNested(b) && Array.isArray(a) === Array.isArray(b) && !isEmpty(a) && !isEmpty(b)) {
    out.push({ sign: " ", indent, text: `${scalar(key)}:` });
    compare(out, a, b, indent + (Array.isArray(a) ? 0 : 1));
    return;
  }
  if (had) printKey(out, key, a, indent, "-");
  if (has) printKey(out, key, b, indent, "+");
}

/** Items with a name are compared with those of the same name, others by what they are. */
function compareLists(out: Line[], before: Value[], after: Value[], indent: number): void {
  const rest = after.slice();
  for (const item of before) {
    const name = nameOf(item);
    const at = rest.findIndex((other) => (name === undefined ? same(item, other) : nameOf(other) === name));
    if (at < 0) printItem(out, item, indent, "-");
    else {
      const other = rest.splice(at, 1)[0];
      if (!same(item, other)) compareItem(out, item, other, indent);
    }
  }
  for (const item of rest) printItem(out, item, indent, "+");
}

function compareItem(out: Line[], before: Value, after: Value, indent: number): void {
  for (const key of ["type", "name", "key"]) {
    if (isObject(before) && typeof before[key] === "string") {
      out.push({ sign: " ", indent, text: `- ${key}: ${scalar(before[key])}` });
      break;
    }
  }
  compare(out, before, after, indent + 1);
}

function nameOf(item: Value): string | undefined {
  if (!isObject(item)) return undefined;
  for (const key of ["type", "name", "key"]) if (typeof item[key] === "string") return item[key] as string;
  return undefined;
}

function isObject(value: Value): value is { [key: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function isNested(value: Value): boolean {
  return typeof value === "object" && value !== null;
}
function isEmpty(value: Value): boolean {
  return isNested(value) && Object.keys(value as object).length === 0;
}
function entries(value: { [key: string]: Value }): [string, Value][] {
  return Object.entries(value).filter(([key]) => !hidden.has(key));
}
function same(a: Value, b: Value): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** A value without parts, quoted where YAML would read something else. */
function scalar(value: Value): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return plain(JSON.stringify(value));
  const bare = value !== "" && !/^[\s>|@`"'&*!%{}[\],?#-]|: |:$| #|\s$|[\n\t]/.test(value) && !/^(true|false|null|yes|no|on|off|~|[-+.]?\d[\d.eE_+:-]*)$/i.test(value);
  return plain(bare ? value : JSON.stringify(value));
}
