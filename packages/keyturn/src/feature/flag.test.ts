import { describe, expect, it } from "vitest";
import { choiceFlag, durationFlag, environmentVariableOf, listFlag, numberFlag, readFlags, switchFlag, textFlag, UsageError } from "./flag.ts";

const flags = {
  level: choiceFlag({ name: "log-level", help: "", choices: ["debug", "info"], default: "info" }),
  elect: switchFlag({ name: "leader-elect", help: "", default: true }),
  names: listFlag({ name: "namespaces", help: "" }),
  interval: durationFlag({ name: "jwks.reconcile-interval", help: "", default: "5s" }),
  kubeconfig: textFlag({ name: "kubeconfig", help: "" }),
  replicas: numberFlag({ name: "replicas", help: "", default: 2, least: 1, most: 9 }),
};

describe("readFlags", () => {
  it("gives the defaults when nothing is said", () => {
    expect(readFlags(flags, {}, {})).toEqual({ level: "info", elect: true, names: [], interval: 5000, kubeconfig: undefined, replicas: 2 });
  });

  it("takes the environment, and the command line over it", () => {
    const environment = { KEYTURN_LOG_LEVEL: "debug", KEYTURN_JWKS_RECONCILE_INTERVAL: "1m", KEYTURN_NAMESPACES: "a, b,,c" };
    expect(readFlags(flags, { "log-level": "info" }, environment)).toMatchObject({ level: "info", interval: 60_000, names: ["a", "b", "c"] });
  });

  it("takes the variable of an earlier operator where its own is not set", () => {
    const place = { name: textFlag({ name: "a.name", help: "", legacyVariable: "OLD_NAME" }) };
    expect(readFlags(place, {}, { OLD_NAME: "old" })).toEqual({ name: "old" });
    expect(readFlags(place, {}, { OLD_NAME: "old", KEYTURN_A_NAME: "new" })).toEqual({ name: "new" });
  });

  it.each([
    [{ "log-level": "loud" }, {}, '--log-level: "loud" is not one of debug, info'],
    [{}, { KEYTURN_LEADER_ELECT: "yes" }, 'KEYTURN_LEADER_ELECT: "yes" is neither true nor false'],
    [{ "jwks.reconcile-interval": "soon" }, {}, '--jwks.reconcile-interval: "soon" is not a duration such as 30s, 5m or 1h30m'],
    [{ "jwks.reconcile-interval": "99999999h" }, {}, '--jwks.reconcile-interval: "99999999h" is longer than 876000h (100 years)'],
    [{ replicas: "1.5" }, {}, '--replicas: "1.5" is not a whole number from 1 to 9'],
    [{ replicas: "10" }, {}, '--replicas: "10" is not a whole number from 1 to 9'],
  ])("says in one line what is wrong and where it stands: %o %o", (given, environment, message) => {
    expect(() => readFlags(flags, given, environment)).toThrow(new UsageError(message));
  });
});

it("a controller's flag has its dots and dashes replaced in the environment", () => {
  expect(environmentVariableOf(flags.interval)).toBe("KEYTURN_JWKS_RECONCILE_INTERVAL");
});
