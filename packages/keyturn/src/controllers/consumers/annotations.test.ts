import { describe, expect, test } from "vitest";
import { limits } from "../../limits.ts";
import { type FollowOptions, followedBy, pausePeriodMs, priorityOf, sourceWords } from "./annotations.ts";

const r = "reloader.stakater.com";
const options: FollowOptions = { auto: false, imagePullSecrets: false, kinds: new Set(["Secret", "ConfigMap", "SecretProviderClass"] as const) };

/** Uses a key of the Secret `db` in its environment, and the ConfigMap `conf` as files. */
const template = {
  spec: {
    containers: [
      {
        name: "app",
        env: [{ name: "P", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }],
        volumeMounts: [{ name: "v", mountPath: "/v" }],
      },
    ],
    volumes: [{ name: "v", configMap: { name: "conf" } }],
    imagePullSecrets: [{ name: "registry" }],
  },
};

function followed(annotations: Readonly<Record<string, string>>, changes: Partial<FollowOptions> = {}): readonly string[] {
  return followedBy(annotations, template, { ...options, ...changes }).map(
    ({ kind, name, key, onlyIfMatched }) => `${kind.toLowerCase()} ${name}${key === undefined ? "" : `/${key}`}${onlyIfMatched ? " if matched" : ""}`,
  );
}

const both = ["secret db/password", "configmap conf"];

describe("what a workload follows", () => {
  test.each([
    ["says nothing", {}, {}, []],
    ["says nothing, and all follow", {}, { auto: true }, both],
    ["wants what it uses", { [`${r}/auto`]: "true" }, {}, both],
    ["wants nothing although all follow", { [`${r}/auto`]: "false" }, { auto: true }, []],
    ["wants Secrets", { [`secret.${r}/auto`]: "true" }, {}, ["secret db/password"]],
    ["wants ConfigMaps", { [`configmap.${r}/auto`]: "true" }, {}, ["configmap conf"]],
    ["wants Secrets, and nothing in general", { [`${r}/auto`]: "false", [`secret.${r}/auto`]: "true" }, {}, ["secret db/password"]],
    ["wants no ConfigMaps although all follow", { [`configmap.${r}/auto`]: "false" }, { auto: true }, ["secret db/password"]],
    ["names Secrets, used or not", { [`secret.${r}/reload`]: "db, other" }, {}, ["secret db/password", "secret other"]],
    ["names ConfigMaps", { [`configmap.${r}/reload`]: "other" }, {}, ["configmap other"]],
    ["names a class of a secret store", { [`secretproviderclass.${r}/reload`]: "vault" }, {}, ["secretproviderclass vault"]],
    ["names one and wants none in general", { [`${r}/auto`]: "false", [`secret.${r}/reload`]: "other" }, {}, ["secret other"]],
    ["searches", { [`${r}/search`]: "true" }, {}, ["secret db/password if matched", "configmap conf if matched"]],
    ["searches, and wants what it uses", { [`${r}/search`]: "true", [`${r}/auto`]: "true" }, {}, both],
    ["has our own word", { "keyturn.io/restart-on-change": "auto" }, {}, both],
    ["has our own word against", { "keyturn.io/restart-on-change": "never", [`${r}/auto`]: "true" }, { auto: true }, []],
    ["leaves files alone", { "keyturn.io/restart-on-change": "env-only" }, {}, ["secret db/password"]],
    ["names some in our own way", { "keyturn.io/restart-on-change": "secret/other, conf" }, {}, ["secret other", "configmap conf"]],
    [
      "wants the Secrets of its images too",
      { [`${r}/auto`]: "true" },
      { imagePullSecrets: true },
      ["secret db/password", "secret registry", "configmap conf"],
    ],
    ["wants what is not looked at", { [`${r}/auto`]: "true" }, { kinds: new Set(["Secret"] as const) }, ["secret db/password"]],
    ["has words that mean nothing", { [`${r}/auto`]: "yes", [`${r}/search`]: "" }, {}, []],
  ] as const)("that %s", (_what, annotations, changes, expected) => {
    expect(followed(annotations, changes)).toEqual(expected);
  });

  test("a name alone that is neither a Secret nor a ConfigMap that it uses may be either", () => {
    expect(followed({ "keyturn.io/restart-on-change": "x" }, { kinds: new Set(["Secret", "ConfigMap"] as const) })).toEqual([
      "secret x",
      "configmap x",
    ]);
  });

  test("annotations of its template count if it has none itself", () => {
    const withWords = { ...template, metadata: { annotations: { [`${r}/auto`]: "true" } } };
    expect(followedBy({}, withWords, options)).toHaveLength(2);
    expect(followedBy({ [`${r}/auto`]: "false" }, withWords, options)).toHaveLength(0);
  });

  test("of very long lists of names, the first ones", () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `s${index}`).join(",");
    expect(followed({ [`secret.${r}/reload`]: names })).toHaveLength(limits.followedNames);
  });
});

test.each([
  ["5m", 300_000],
  ["90s", 90_000],
  [" 1h ", 3_600_000],
  ["999999h", limits.pausePeriodMs],
  ["5 minutes", 0],
  ["-5m", 0],
  ["", 0],
])("a pause period of %j", (text, expected) => {
  expect(pausePeriodMs({ [`deployment.${r}/pause-period`]: text })).toBe(expected);
});

test.each([
  ["10", 10],
  ["-1", -1],
  ["high", 0],
  ["1e400", 0],
  ["1.5", 0],
])("a priority of %j", (text, expected) => {
  expect(priorityOf({ "keyturn.io/restart-priority": text })).toBe(expected);
});

test("what a Secret says of itself", () => {
  expect(sourceWords({ [`${r}/ignore`]: "true" })).toEqual({ isIgnored: true, isMatched: false });
  expect(sourceWords({ [`${r}/match`]: "true" })).toEqual({ isIgnored: false, isMatched: true });
  expect(sourceWords()).toEqual({ isIgnored: false, isMatched: false });
});
