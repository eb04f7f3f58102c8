// What an error of the API server says, and what it keeps to itself.
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ApiError, type StatusBody, statusBodyOf } from "./api-error.ts";

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
    [
      "is short",
      422,
      invalid({ field: `data[${"k".repeat(100)}].${"f".repeat(50)}.${"g".repeat(50)}`, reason: "FieldValueInvalid" }),
      `Vault "a" is invalid: data[…].${"f".repeat(50)}.gg… (Invalid value)`,
    ],
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
      "names nothing that a webhook says, not even as the name of a field",
      404,
      status({
        reason: "NotFound",
        message: `admission webhook "a.example" denied the request: secrets "${secret}" not found`,
        details: {
          kind: secret,
          name: secret,
          causes: [
            { field: "spec.dnsNames[0]", reason: "FieldValueInvalid", message: quoted },
            { field: secret, reason: secret, message: quoted },
            { field: `spec.password: ${secret}`, reason: "FieldValueInvalid" },
            { field: `data["${secret}"]`, reason: "FieldManagerConflict", message: `conflict with "${secret}"` },
          ],
        },
      }),
      `admission webhook "a.example" denied the request (${withheld})`,
    ],
    [
      "names the webhook that failed, not what it answered",
      500,
      status({
        reason: "InternalError",
        message: `Internal error occurred: failed calling webhook "a.example": failed to call webhook: unknown field "${secret}" panic: unexpected value ${secret}`,
        details: { causes: [{ message: `panic ${secret}` }] },
      }),
      'the API server answered 500 (InternalError): failed calling webhook "a.example"',
    ],
    [
      "says why a webhook could not be called",
      500,
      status({
        reason: "InternalError",
        message: `Internal error occurred: failed calling webhook "a.example": failed to call webhook: Post "https://x.y.svc:443/?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`,
      }),
      'the API server answered 500 (InternalError): failed calling webhook "a.example", connection refused',
    ],
    [
      "names the conversion that failed",
      500,
      status({ message: `conversion webhook for example.com/v1, Kind=Vault failed: ${secret}` }),
      "the API server answered 500: conversion webhook for example.com/v1, Kind=Vault failed",
    ],
    [
      "of a patch that cannot be carried out is withheld, but for the key that it lacks",
      500,
      status({ message: `map: map[value:${secret}] does not contain declared merge key: name` }),
      "the API server answered 500: does not contain declared merge key: name",
    ],
    ["of any other failure is withheld", 500, status({ reason: secret, message: `panic: ${secret}` }), `the API server answered 500: ${withheld}`],
    [
      "quotes no key that is there twice",
      500,
      status({ message: `failed to create typed patch object (a/b; v1, Kind=Pod): .spec.containers: duplicate entries for key [name="${secret}"]` }),
      "the API server answered 500: .spec.containers (duplicate entries for key)",
    ],
    [
      "names who else applies a field",
      409,
      status({
        reason: "Conflict",
        message: `Apply failed with 1 conflict: conflict with "kubectl" using v1: .spec.env[name="${secret}"].value`,
        details: {
          causes: [{ reason: "FieldManagerConflict", field: `.spec.env[name="${secret}"].value`, message: 'conflict with "kubectl" using v1' }],
        },
      }),
      'conflict: .spec.env[…].value (conflict with "kubectl")',
    ],
    [
      "of an unknown form is withheld under every status",
      404,
      status({ reason: "NotFound", message: `secrets "a" not found: ${secret}`, details: { kind: "secrets", name: "a" } }),
      `secrets "a" not found: ${withheld}`,
    ],
    [
      "names the right that is missing, without what an authorizer adds",
      403,
      status({
        reason: "Forbidden",
        message: `pods "a" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "b": ${secret}`,
        details: { kind: "pods", name: "a" },
      }),
      'pods "a" is forbidden: User "u" cannot get resource "pods" in API group "" in the namespace "b"',
    ],
    ...[
      [404, 'namespaces "a" not found'],
      [404, "the server could not find the requested resource"],
      [409, 'secrets "a" already exists'],
      [
        409,
        'Operation cannot be fulfilled on vaults.example.com "a": the object has been modified; please apply your changes to the latest version and try again',
      ],
      [403, 'secrets "a" is forbidden: unable to create new content in namespace b because it is being terminated'],
      [410, "The resourceVersion for the provided watch is too old."],
      [410, "too old resource version: 12 (34)"],
      [429, "Too many requests, please try again later."],
      [500, "etcdserver: leader changed"],
      [504, "Timeout: Too large resource version: 5, current: 4"],
    ].map(([code, message]): [string, number, StatusBody, string] => [
      `is the server's own: ${message}`,
      Number(code),
      status({ message: String(message), details: { kind: "x", name: "y" } }),
      String(message),
    ]),
    [
      "is the server's own where nothing of the object is in it",
      403,
      status({
        message: 'pods "a" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1',
        details: { kind: "pods", name: "a" },
      }),
      'pods "a" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1',
    ],
  ])("%s", (_name, code, body, message) => {
    const error = new ApiError("apply vaults ns/a", code, body);
    expect(error.message).toBe(`apply vaults ns/a: ${message}`);
    expect(inspect(error, { depth: 9 }) + JSON.stringify(error)).not.toContain(secret);
    expect(error.body).toBe(body);
  });

  it.each([`"`.repeat(1_000_000), `."${"\\".repeat(1_000_000)}`, `a[${'"'.repeat(1_000_000)}`, ". ".repeat(500_000), ` .[${" .[".repeat(300_000)}`])(
    "takes linear time, whatever is in a field",
    (text) => {
      const error = new ApiError("get x", 422, invalid({ field: text, message: text }));
      const words = new ApiError("get x", 500, status({ message: text }));
      expect(`${error.message}${words.message}`.length).toBeLessThan(600);
    },
  );

  it.each([
    '{"kind":"Status","message":5,"details":{"causes":{"field":1}}}',
    '{"kind":"Status","details":{"causes":[null,3,{"field":{}}],"retryAfterSeconds":"soon"}}',
    '{"kind":"Status","message":null,"details":null}',
    `{"kind":"Status","code":"${secret}","reason":["${secret}"],"details":{"kind":{"${secret}":1},"name":["${secret}"]}}`,
  ])("can be made of any answer: %s", (text) => {
    const error = new ApiError("get x", 422, statusBodyOf(JSON.parse(text)) ?? {});
    expect(error).toMatchObject({ message: `get x: invalid: ${withheld}`, retryAfterMs: undefined });
    expect(inspect(error.body)).not.toContain(secret);
  });
});
