import { expect, test } from "vitest";
import { isRunnableImage, parseImage, sameImage } from "./image-reference.ts";

const digest = `sha256:${"a".repeat(64)}`;

test.each([
  ["proxyv2", "docker.io", "library/proxyv2", "latest", undefined],
  ["istio/proxyv2:1.27.0", "docker.io", "istio/proxyv2", "1.27.0", undefined],
  ["docker.io/istio/proxyv2:1.27.0", "docker.io", "istio/proxyv2", "1.27.0", undefined],
  ["index.docker.io/istio/proxyv2:1", "docker.io", "istio/proxyv2", "1", undefined],
  ["reg:5000/istio/proxyv2", "reg:5000", "istio/proxyv2", "latest", undefined],
  ["reg:5000/istio/proxyv2:1.27.0", "reg:5000", "istio/proxyv2", "1.27.0", undefined],
  ["localhost/proxyv2:1", "localhost", "proxyv2", "1", undefined],
  ["gcr.io/a/b/proxyv2:1-distroless", "gcr.io", "a/b/proxyv2", "1-distroless", undefined],
  [`istio/proxyv2@${digest}`, "docker.io", "istio/proxyv2", undefined, digest],
  [`reg:5000/istio/proxyv2:1.27.0@${digest}`, "reg:5000", "istio/proxyv2", "1.27.0", digest],
  ["auto", "docker.io", "library/auto", "latest", undefined],
  ["Istio/proxyv2:1", "Istio", "proxyv2", "1", undefined],
])("%s is read as container runtimes do", (image, registry, repository, tag, hash) => {
  expect(parseImage(image)).toEqual({ registry, repository, tag, digest: hash });
});

test.each([
  // left, right, the same without the hub, the same with it
  ["istio/proxyv2:1.27.0", "docker.io/istio/proxyv2:1.27.0", true, true],
  ["istio/proxyv2:1.27.0", "reg:5000/istio/proxyv2:1.27.0", true, false],
  ["mirror.example/mesh/proxyv2:1.27.0", "docker.io/istio/proxyv2:1.27.0", true, false],
  ["istio/proxyv2:1.27.0", "istio/proxyv2:1.27.1", false, false],
  ["reg:5000/istio/proxyv2", "reg:5000/istio/proxyv2:latest", true, true],
  ["reg:5000/istio/proxyv2", "reg:5001/istio/proxyv2", true, false],
  ["istio/proxyv2:1", "istio/pilot:1", false, false],
  [`istio/proxyv2@${digest}`, `istio/proxyv2@sha256:${"b".repeat(64)}`, false, false],
  [`istio/proxyv2:1@${digest}`, `istio/proxyv2:2@${digest}`, true, true],
  [`istio/proxyv2:1@${digest}`, "istio/proxyv2:1", false, false],
])("%s and %s: the same %s, with the hub %s", (left, right, without, withHub) => {
  expect(sameImage(left, right, { compareHub: false })).toBe(without);
  expect(sameImage(right, left, { compareHub: false })).toBe(without);
  expect(sameImage(left, right, { compareHub: true })).toBe(withHub);
});

test.each([
  "proxyv2",
  "istio/proxyv2:1.27.0",
  "reg:5000/istio/proxyv2",
  "[::1]:5000/proxyv2:1",
  `gcr.io/a_b/c--d/e__f:1-x@${digest}`,
  "auto:1",
  "example/auto",
  "Istio/proxyv2:1",
  "REG.example:5000/istio/proxyv2:1.27.0",
  "my-reg.example/proxyv2:1",
  "localhost/proxyv2",
  `proxyv2:1@sha512:${"0".repeat(128)}`,
  `${"a".repeat(64)}:1`,
  `a.io/${"b".repeat(250)}`,
])("%s can be run", (image) => expect(isRunnableImage(image)).toBe(true));

test.each([
  "",
  "auto",
  " ",
  ":1.27.0",
  "istio/",
  "istio//proxyv2",
  "istio/proxyv2:",
  "istio/Proxyv2",
  "istio/proxyv2@",
  "istio/proxyv2@sha256:1",
  "{{ .Values.hub }}/proxyv2",
  `x@sha256:${"a".repeat(32)}`,
  `x@foo:${"a".repeat(64)}`,
  `x@sha256:${"A".repeat(64)}`,
  `x@SHA256:${"a".repeat(64)}`,
  `x@sha512:${"a".repeat(64)}`,
  `x@${digest}@junk !!`,
  "../proxyv2:1.27",
  "-bad.io/proxyv2:1",
  "bad-.io/proxyv2:1",
  "a..b/proxyv2:1",
  "My_Reg.io/proxyv2:1",
  "reg:port/proxyv2:1",
  "proxyv2:1\n",
  `a.io/${"b".repeat(251)}`,
  "a".repeat(300),
  "a".repeat(64),
])('"%s" cannot', (image) => expect(isRunnableImage(image)).toBe(false));

test("an image of a million characters is refused at once", () => {
  for (const image of ["a".repeat(1e6), "a-".repeat(5e5), "a.".repeat(5e5), `${"a-".repeat(5e5)}/x`, `x@${"a+".repeat(5e5)}`]) {
    expect(isRunnableImage(image)).toBe(false);
  }
});
