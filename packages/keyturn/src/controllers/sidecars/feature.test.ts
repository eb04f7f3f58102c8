import { describe, expect, test } from "vitest";
import { sidecarsFeature } from "./feature.ts";
import { sidecarsOptions } from "./flags.ts";

const minute = 60_000;

describe("the flags", () => {
  test("have Fortsa's documented defaults", () => {
    expect(sidecarsOptions((flag) => flag.parse(undefined))).toEqual({
      selects: expect.any(Function),
      dryRun: false,
      compareHub: false,
      whole: false,
      reasons: new Set(["ImageDiffers", "RevisionDiffers", "SidecarMissing", "SidecarUnwanted"]),
      stabilizeMs: 10_000,
      periodMs: 60 * minute,
      probeMs: minute,
      skipNamespaces: ["kube-system", "istio-system"],
      istioNamespaces: ["istio-system"],
      argoRollouts: false,
      optIn: false,
      checkAdmission: true,
      limits: {
        maxRollouts: 5,
        restartDelayMs: 0,
        cooldownMs: 5 * minute,
        rolloutTimeoutMs: 10 * minute,
        continueWhenStuck: false,
        maintenance: { windows: [], timeZone: "UTC" },
      },
    });
  });

  test("0 stays 0, and no namespace is none", () => {
    const given: Readonly<Record<string, string>> = {
      "sidecars.restart-delay": "0",
      "sidecars.reconcile-period": "0",
      "sidecars.skip-namespaces": "",
    };
    const { limits, periodMs, skipNamespaces } = sidecarsOptions((flag) => flag.parse(given[flag.name]));
    expect([limits.restartDelayMs, periodMs, skipNamespaces]).toEqual([0, 0, []]);
  });

  test("choose what is restarted for, and refuse what is no reason", () => {
    const reasonsWith = (given: Readonly<Record<string, string>>) => [...sidecarsOptions((flag) => flag.parse(given[flag.name])).reasons];
    expect(reasonsWith({ "sidecars.restart-for": "image" })).toEqual(["ImageDiffers"]);
    expect(reasonsWith({ "sidecars.restart-for": "image,whole" })).toEqual(["ImageDiffers", "SidecarDiffers"]);
    expect(reasonsWith({ "sidecars.restart-for": "image", "sidecars.compare-whole": "true" })).toEqual(["ImageDiffers", "SidecarDiffers"]);
    expect(() => reasonsWith({ "sidecars.restart-for": "images" })).toThrow('"images" is not one of image, revision, injected, removed, whole');
  });

  test("say as their default what they take for it", () => {
    for (const flag of sidecarsFeature.flags) expect([flag.name, flag.parse(flag.default)]).toEqual([flag.name, flag.parse(undefined)]);
  });
});

describe("the rights", () => {
  const accessWith = (given: Readonly<Record<string, string>>) =>
    sidecarsFeature.controllers((flag) => flag.parse(given[flag.name])).flatMap(({ access }) => access);

  test("are for reading, and for restarting by patch; none for ControllerRevisions, and none on Leases outside of the operator's namespace", () => {
    const access = accessWith({});
    const written = access
      .filter(({ inOwnNamespace }) => !inOwnNamespace)
      .filter(({ verbs }) => verbs.some((verb) => !["list", "watch"].includes(verb)));
    expect(written.map(({ kind, verbs }) => `${kind.plural} ${verbs.join(" ")}`)).toEqual([
      "pods create",
      "deployments list watch patch",
      "statefulsets list watch patch",
      "daemonsets list watch patch",
    ]);
    expect(access.map(({ kind }) => kind.plural)).not.toContain("controllerrevisions");
    const leases = access.filter(({ kind }) => kind.plural === "leases");
    expect(leases.map(({ verbs, resourceNames, inOwnNamespace }) => [verbs, resourceNames, inOwnNamespace])).toEqual([
      [["get", "update"], ["keyturn-restarts"], true],
      [["create"], undefined, true],
    ]);
  });

  test("no right to create pods if nobody is to be asked by it", () => {
    const createdOf = (given: Readonly<Record<string, string>>): readonly string[] =>
      accessWith(given).flatMap(({ kind, verbs }) => (verbs.includes("create") ? [kind.plural] : []));
    expect(createdOf({})).toEqual(["pods", "leases"]);
    expect(createdOf({ "sidecars.check-admission": "false" })).toEqual(["leases"]);
  });

  test("on Rollouts only if they are to be restarted", () => {
    expect(accessWith({}).map(({ kind }) => kind.plural)).not.toContain("rollouts");
    expect(accessWith({ "sidecars.argo-rollouts": "true" }).map(({ kind }) => kind.plural)).toContain("rollouts");
  });
});
