// The error of a zod schema that has no structural OpenAPI form.

/** A zod schema uses something that a CustomResourceDefinition cannot say. `path` is where, such as `spec.rules[].port`. */
export class SchemaError extends Error {
  readonly code = "NotStructural";
  readonly path: string;
  constructor(path: string, reason: string) {
    super(`${path}: ${reason}`);
    this.name = "SchemaError";
    this.path = path;
  }
}
