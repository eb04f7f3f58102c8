import { describe, expect, test } from "vitest";
import { evaluateConditions } from "./match-conditions.ts";

const pod = {
  metadata: { namespace: "shop", generateName: "web-", labels: { app: "web" } },
  spec: { containers: [{ name: "app", image: "app:1", ports: [{ containerPort: 8080 }] }] },
};

function evaluate(...expressions: readonly string[]): ReturnType<typeof evaluateConditions> {
  return evaluateConditions(
    expressions.map((expression, index) => ({ name: `c${index}`, expression })),
    pod,
  );
}

describe("conditions about what is known", () => {
  test.each([
    "true",
    "object.metadata.labels['app'] == 'web'",
    "request.namespace == 'shop' && request.operation == 'CREATE'",
    "object.spec.containers[0].ports[0].containerPort == 8080",
    "!has(object.spec.hostNetwork)",
    "object.spec.containers.exists(c, c.name == 'app')",
    "oldObject == null",
    "object.metadata.labels['app'].matches('^w[a-z]+$')",
    "object.metadata.labels['app'].matches('eb')",
  ])("%s holds", (expression) => expect(evaluate(expression)).toEqual({ type: "hold" }));

  test("no conditions hold", () => expect(evaluate()).toEqual({ type: "hold" }));
  test("all must hold", () => expect(evaluate("true", "object.metadata.labels['app'] == 'db'")).toEqual({ type: "fail", condition: "c1" }));
});

describe("conditions that are said to be undecidable, never guessed", () => {
  test.each([
    ["authorizer.group('').resource('pods').check('create').allowed()", "authorizer"],
    ["request.userInfo.username == 'me'", "request.userInfo.username"],
    ["has(object.spec.tolerations)", "object.spec.tolerations"],
    ["'volumes' in object.spec", "object.spec"],
    ["object['spec'].volumes.size() > 0", "object.spec.volumes"],
    ["object.spec.containers.all(c, has(c.volumeMounts))", "volumeMounts"],
    ["object.metadata.labels['app'].lowerAscii() == 'web'", "lowerAscii"],
    ["object.metadata.uid != ''", "object.metadata.uid"],
    ["quantity('1').isInteger()", "quantity"],
    ["object.spec.nope == 1", "nope"],
    ["object.metadata.labels", "true or false"],
    ["this is no CEL", "c0"],
    ["unknown == 1", "unknown"],
    ["object.metadata.labels['app'].matches('^(w+)+$')", "linear time"],
    ["object.metadata.labels['app'].matches('w+e')", "linear time"],
    ["object.metadata.labels['app'].matches(object.metadata.labels['app'])", "linear time"],
    ["object.spec.containers.all(c, object.spec.containers.exists(d, d.name == c.name))", "for each member of another"],
    [`'${"a".repeat(10_000)}' == ''`, "10000 characters"],
  ])("%s", (expression, mentioned) => {
    expect(evaluate(expression)).toEqual({ type: "undecidable", message: expect.stringContaining(mentioned) });
  });

  test("unless another one is false, whatever their order", () => {
    expect(evaluate("authorizer.path('/').check('get').allowed()", "false")).toEqual({ type: "fail", condition: "c1" });
    expect(evaluate("false", "no such thing")).toEqual({ type: "fail", condition: "c0" });
  });
});
