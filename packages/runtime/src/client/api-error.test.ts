// What an error of the API server says, and what it keeps to itself.
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ApiError, type StatusBody } from "./api-error.ts";

const secret = "hunter2-from-a-Secret";
const status = (body: StatusBody): StatusBody => ({ kind: "Status", status: "Failure", ...body });
const invalid = (...causes: NonNullable<NonNullable<StatusBody["details"]>["causes"]>): StatusBody =>
  status({ reason: "Invalid", code: 422, message: `Vault "a" is invalid: ${secret}`, details: { kind: "Vault", name: "a", causes } });
const withheld = "the API server's words are withheld, for they may quote a secret; its audit log has them";
const quoted = `Invalid value: "${secret}"`;

describe("the message of a refusal", () => {
  it.each<[string, number, StatusBody, string]>([
    [
      "names fields and reasons",
      422,
      invalid(
        { field: "spec.password", reason: "FieldValueInvalid", message: `${quoted}: should match '^[a-z]+$'` },
        { field: "metadata.name", reason: "FieldValueRequired", message: "Required value" },
        { field: "type", reason: "FieldValueInvalid", message: `${quoted}: field is immutable` },
        { field: "spec.odd", reason: secret, message: quoted },
      ),
      'Vault "a" is invalid: spec.password (Invalid value), metadata.name (Required value), type (field is immutable), spec.odd (refused)',
    ],
    [
      "says each thing once, and leaves out what names no field",
      422,
      invalid({ field: "a", reason: "FieldValueTooLong" }, { field: "a", reason: "FieldValueTooLong" }, { field: "<nil>", message: quoted }),
      'Vault "a" is invalid: a (Too long)',
    ],
    ["is short", 422, invalid({ field: `data[${"k".repeat(200)}]`, reason: "FieldValueInvalid" }), `Vault "a" is invalid: data[${"k".repeat(155)}…`],
    [
      "counts what it does not list",
      422,
      invalid(...Array.from({ length: 7 }, (_, index) => ({ field: `f${index}`, reason: "FieldValueForbidden" }))),
      'Vault "a" is invalid: f0 (Forbidden), f1 (Forbidden), f2 (Forbidden), f3 (Forbidden), f4 (Forbidden), 2 more',
    ],
    ["without causes is withheld", 422, status({ message: quoted }), `invalid: ${withheld}`],
    ["of a bad request is withheld", 400, status({ message: `parsing "${secret}"` }), `bad request: ${withheld}`],
    [
      "names unknown fields",
      400,
      status({ message: 'strict decoding error: unknown field "spec.a", duplicate field "spec.b"' }),
      'bad request: unknown field "spec.a", duplicate field "spec.b"',
    ],
    [
      "names fields of a patch that does not fit, without the keys of lists",
      400,
      status({
        code: 500,
        message: `failed to create typed patch object (ns/a; v1, Kind=A): errors:\n  .a.b["${secret}"]: expected map, got &{${secret}}\n  .c: field not declared in schema`,
      }),
      "bad request: .a.b[…] (expected map), .c (field not declared in schema)",
    ],
    [
      "that became a conflict quotes nothing either",
      409,
      invalid({ field: "metadata.uid", reason: "FieldValueInvalid", message: quoted }),
      'Vault "a" is invalid: metadata.uid (Invalid value)',
    ],
    [
      "names the webhook that denied, not its words",
      403,
      status({ message: `admission webhook "a.example" denied the request: ${secret}\n${secret}` }),
      `admission webhook "a.example" denied the request (${withheld})`,
    ],
    [
      "is the server's own where nothing of the object is in it",
      403,
      status({ message: 'pods "a" is forbidden: exceeded quota' }),
      'pods "a" is forbidden: exceeded quota',
    ],
  ])("%s", (_name, code, body, message) => {
    const error = new ApiError("apply vaults ns/a", code, body);
    expect(error.message).toBe(`apply vaults ns/a: ${message}`);
    expect(inspect(error, { depth: 9 }) + JSON.stringify(error)).not.toContain(secret);
    expect(error.body).toBe(body);
  });

  it.each([
    '{"kind":"Status","message":5,"details":{"causes":{"field":1}}}',
    '{"kind":"Status","details":{"causes":[null,3,{"field":{}}],"retryAfterSeconds":"soon"}}',
    '{"kind":"Status","message":null,"details":null}',
  ])("can be made of any answer: %s", (text) => {
    const error = new ApiError("get x", 422, JSON.parse(text) as StatusBody);
    expect(error).toMatchObject({ message: `get x: invalid: ${withheld}`, retryAfterMs: undefined });
  });
});
