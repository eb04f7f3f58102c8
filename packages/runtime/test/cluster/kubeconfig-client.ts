// A client for a kubeconfig, as an operator would open it.
import { createClient, createHttpTransport, loadConfig, type Client } from "@keyturn/runtime";

/** The client of the kubeconfig's user. */
export async function clientOf(kubeconfig: string): Promise<Client> {
  return createClient(createHttpTransport(await loadConfig({ kubeconfig, env: {} })));
}
