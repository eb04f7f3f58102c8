// The versions of Kubernetes that the tests run on. A test holds them against the modules that the local control planes are built from.

/** A minor release. */
export interface MinorVersion {
  readonly major: number;
  readonly minor: number;
}

export const oldestTested: MinorVersion = { major: 1, minor: 33 };
export const newestTested: MinorVersion = { major: 1, minor: 36 };

/** Reads `v1.36.3`, `v1.36.3-gke.1`, `1.36+`; undefined for anything else. */
export function parseMinorVersion(text: string): MinorVersion | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(text) ?? [];
  return major === undefined || minor === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}
