// The feature's rights and flags.
import { resourceOf } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { rotationFeature, rotationFlags } from "./feature.ts";
import { parseSourceKind, sourceKinds } from "./source.ts";

const rightsWith = (kinds: string | undefined): readonly string[] =>
  rotationFeature
    .controllers((flag) => flag.parse(flag.name === rotationFlags.kinds.name ? kinds : flag.default))
    .flatMap(({ access }) =>
      access.map(({ kind, subresource, verbs, resourceNames = [] }) =>
        [`${kind.plural}.${kind.group}${subresource ? `/${subresource}` : ""}:`, ...verbs, ...resourceNames.map((name) => `(${name})`)].join(" "),
      ),
    );

test("each kind that a flag adds adds its rights, and no more", () => {
  const plain = rightsWith(undefined);
  expect(plain).toEqual([
    "rotationtargets.rotator.k8s.telekom.com: get list watch",
    "jwksconfigs.keyturn.io: list watch",
    "rotationtargets.rotator.k8s.telekom.com/status: patch",
    "secrets.: get (keyturn-installation-key)",
    "secrets.: create",
    "secrets.: get list watch create update patch delete",
    "configmaps.: get list watch create update patch delete",
  ]);
  expect(rightsWith("certificates.v1.cert-manager.io,secrets.v1")).toEqual([
    ...plain,
    "certificates.cert-manager.io: get list watch create update patch delete",
  ]);
});

test("kinds are named as kubectl names them in full", () => {
  expect(parseSourceKind("certificates.v1.cert-manager.io")).toMatchObject({ group: "cert-manager.io", version: "v1", plural: "certificates" });
  expect(parseSourceKind("services.v1")).toMatchObject({ group: "", version: "v1", plural: "services" });
  for (const wrong of ["certificates", "cert-manager.io/v1", "Certificates.v1.cert-manager.io", "x.v1..io", "x.1.io"]) {
    expect(() => parseSourceKind(wrong)).toThrow("is not plural.version.group");
  }
  expect(sourceKinds([parseSourceKind("widgets.v1.example.com"), parseSourceKind("widgets.v1.example.com")]).map(resourceOf)).toEqual([
    "secrets",
    "configmaps",
    "widgets.example.com",
  ]);
});
