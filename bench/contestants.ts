// How each contestant is started for a scenario, with the settings that suit it best.
import { join } from "node:path";
import { build } from "esbuild";
import { nodeProgram, requireBanner } from "../tools/build/bundle.ts";
import {
  controllerRuntimePeer,
  controllerRuntimeVersion,
  installNpmPeer,
  kubeRsPeer,
  kubeRsVersion,
  type NpmPeer,
  npmPeerVersion,
} from "./peers/built-peers.ts";
import type { Contestant } from "./scenario.ts";

/**
 * V8's young generation grows to 3 × 16 MB by default, for throughput that an operator does not need. Held at 3 × 4 MB, the process is tens of megabytes
 * smaller; held at less, garbage outlives it and is collected where that is dearer (docs/decisions/packaging.md#a-semi-space-of-4-mb). What runs Keyturn must set it too,
 * or its memory is not the one measured here.
 */
const nodeFlags = ["--max-semi-space-size=4"];

/** Our programs, by the names of their files in `programs/`. */
const programs = ["agent", "controller", "job", "job-bare-loop", "jwks-bare-loop", "react", "sync"] as const;

/** The contestants that can be had on this machine, by what a scenario asks of them. */
export interface Contestants {
  /** A program of ours, with these arguments; its id has them too. */
  ours(program: (typeof programs)[number], label: string, ...args: readonly string[]): Contestant;
  /** The Go peer's scenario of that name. */
  controllerRuntime(scenario: string, label: string): Contestant;
  /** The Rust peer's scenario of that name. */
  kubeRs(scenario: string, label: string): Contestant;
  /** The client-node peer's scenario of that name. */
  clientNode(scenario: string, label: string): Contestant;
  /** The fluent-client peer's scenario of that name. */
  fluentClient(scenario: string, label: string): Contestant;
}

const clientNode: NpmPeer = { folder: "client-node", packageName: "@kubernetes/client-node" };
const fluentClient: NpmPeer = { folder: "fluent-client", packageName: "kubernetes-fluent-client" };

/** Builds what must be built. */
export async function findContestants(say: (text: string) => void): Promise<Contestants> {
  const goPeer = await controllerRuntimePeer(say);
  const rustPeer = await kubeRsPeer(say);
  const onClientNode = await installNpmPeer(clientNode, say);
  const onFluentClient = await installNpmPeer(fluentClient, say);
  const bundles = await bundlePrograms();
  return {
    ours: (program, label, ...args) => ({
      id: [program, ...args].join("-"),
      label,
      settings: `this checkout, bundled as for the image, node ${nodeFlags.join(" ")}`,
      command: { file: process.execPath, args: [...nodeFlags, join(bundles, `${program}.mjs`), ...args] },
    }),
    controllerRuntime: (scenario, label) => ({
      id: `controller-runtime-${scenario}`,
      label,
      settings: `sigs.k8s.io/controller-runtime ${controllerRuntimeVersion}, protobuf and WatchList as is its default, no client QPS limit, managedFields stripped, reads wait for own writes`,
      command: { file: goPeer, args: [scenario] },
    }),
    kubeRs: (scenario, label) => ({
      id: `kube-rs-${scenario}`,
      label,
      settings: `kube ${kubeRsVersion}, WatchList, managedFields stripped, built for release with thin LTO`,
      command: { file: rustPeer, args: [scenario] },
    }),
    clientNode: (scenario, label) => ({
      id: `client-node-${scenario}`,
      label,
      settings: `@kubernetes/client-node ${npmPeerVersion(clientNode)}, its informer, paged lists, connections shared, managedFields stripped, node ${nodeFlags.join(" ")}`,
      command: { file: process.execPath, args: [...nodeFlags, onClientNode, scenario] },
    }),
    fluentClient: (scenario, label) => ({
      id: `fluent-client-${scenario}`,
      label,
      settings: `kubernetes-fluent-client ${npmPeerVersion(fluentClient)}, its watcher with a second between watches, managedFields stripped, node ${nodeFlags.join(" ")}`,
      command: { file: process.execPath, args: [...nodeFlags, onFluentClient, scenario] },
    }),
  };
}

/** Bundles our programs as the image's is bundled, into `dist/bench`: the peers are compiled too, and unbuilt TypeScript costs a process some 35 MB and 0.4 s. */
async function bundlePrograms(): Promise<string> {
  const folder = join(import.meta.dirname, "..", "dist", "bench");
  await build({
    entryPoints: programs.map((program) => join(import.meta.dirname, "programs", `${program}.ts`)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    ...nodeProgram,
    banner: { js: requireBanner },
  });
  return folder;
}
