// SVG as text: elements with escaped attributes and contents, and numbers short enough to be read in a diff.

type Attributes = Readonly<Record<string, string | number>>;

/** An element with its children, which are SVG themselves. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(typeof value === "number" ? short(value) : value)}"`);
  const open = `<${name}${written.join("")}`;
  return children.length === 0 ? `${open}/>` : `${open}>${children.join("")}</${name}>`;
}

/** Text at a place. */
export function label(content: string, x: number, y: number, attributes: Attributes = {}): string {
  return element("text", { x, y, ...attributes }, escaped(content));
}

/** A straight line. */
export function line(from: Point, to: Point, attributes: Attributes = {}): string {
  return element("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, ...attributes });
}

/** A place, in pixels from the upper left. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Text that can stand between tags and in attributes. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function short(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`drawing: ${value} is no place on a page`);
  return String(Math.round(value * 10) / 10);
}
