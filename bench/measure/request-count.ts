// How many requests the API server has served, by its own count.

/** Sums `apiserver_request_total` over these resources. A watch counts only when it ends, so watches are left out. */
export function requestsIn(metrics: string, resources: readonly string[]): number {
  let sum = 0;
  for (const [, labels = "", value = "0"] of metrics.matchAll(/^apiserver_request_total\{([^}]*)\} (\S+)$/gm)) {
    const resource = /resource="([^"]*)"/.exec(labels)?.[1] ?? "";
    if (resources.includes(resource) && !labels.includes('verb="WATCH"')) sum += Number(value);
  }
  return sum;
}
