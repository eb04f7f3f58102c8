// Messages in the shape that JSON gives them: protobuf writes what is empty, JSON leaves it out.

/** A message while it is being read. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Sets the field, unless the text is empty. */
export function setText<Field extends string>(target: { [Key in Field]?: string }, field: Field, text: string): void {
  if (text !== "") target[field] = text;
}

/** Sets the field, unless the number is zero. */
export function setNumber<Field extends string>(target: { [Key in Field]?: number }, field: Field, value: number): void {
  if (value !== 0) target[field] = value;
}
