// Reading and merging kubeconfigs.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mergeKubeconfigs, parseKubeconfig, readKubeconfig } from "./kubeconfig-file.ts";
import { temporaryFolder } from "./temporary-folder.fixture.ts";

describe("parseKubeconfig", () => {
  it("takes the empty values that kubectl writes", () => {
    const config = parseKubeconfig(
      "apiVersion: v1\nkind: Config\nclusters: null\ncontexts: []\ncurrent-context: ''\nusers:\n- name: a\n  user: null\n",
      "/k",
    );
    expect(config).toMatchObject({ currentContext: undefined, files: ["/k"] });
    expect(config.users.get("a")).toEqual({ value: {}, dir: "/" });
    expect(parseKubeconfig("", "/k").contexts.size).toBe(0);
  });

  it("takes JSON, which is YAML", () => {
    expect(parseKubeconfig('{"current-context": "here"}', "/k").currentContext).toBe("here");
  });

  it("says where the YAML is broken, without quoting it", () => {
    const source = "users:\n- name: a\n  user:\n    token: s3cr3t\n   bad: s3cr3t: s3cr3t\n";
    expect(() => parseKubeconfig(source, "/k")).toThrow(
      expect.objectContaining({
        code: "YamlBroken",
        message: expect.stringMatching(/^kubeconfig \/k is no valid YAML: [A-Z_]+ at line \d+, column \d+$/),
      }),
    );
  });

  it("says which field has the wrong shape, without its value", () => {
    const source = "users:\n- name: a\n  user:\n    token: [s3cr3t]\n";
    expect(() => parseKubeconfig(source, "/k")).toThrow(
      "kubeconfig /k is malformed: users.0.user.token: Invalid input: expected string, received array",
    );
    expect(() => parseKubeconfig("s3cr3t", "/k")).toThrow(/^kubeconfig \/k is malformed: the file: (?!.*s3cr3t)/);
  });
});

describe("mergeKubeconfigs", () => {
  it("takes each entry whole from the first file that has it, and paths from that file's folder", () => {
    const first = parseKubeconfig(
      "clusters:\n- name: c\n  cluster: { server: https://first }\nusers:\n- name: u\n  user: { token: a }\n",
      "/one/config",
    );
    const second = parseKubeconfig(
      "current-context: x\nclusters:\n- name: c\n  cluster: { server: https://second, certificate-authority: ca.crt }\n- name: d\n  cluster: { certificate-authority: ca.crt }\n",
      "/two/config",
    );
    const third = parseKubeconfig("current-context: y", "/three/config");
    const merged = mergeKubeconfigs([first, second, third]);
    expect(merged.currentContext).toBe("x");
    expect(merged.clusters.get("c")).toEqual({ value: { server: "https://first" }, dir: "/one" });
    expect(merged.clusters.get("d")).toEqual({ value: { "certificate-authority": "ca.crt" }, dir: "/two" });
    expect(merged.files).toEqual(["/one/config", "/two/config", "/three/config"]);
  });
});

describe("readKubeconfig", () => {
  it("tells a file that is not there from one that cannot be read", async () => {
    const dir = await temporaryFolder();
    expect(await readKubeconfig(join(dir, "none"))).toBeUndefined();
    await expect(readKubeconfig(dir)).rejects.toMatchObject({ code: "FileUnreadable", message: `kubeconfig ${dir} cannot be read: EISDIR` });
  });
});
