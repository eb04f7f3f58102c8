// For every Secret labelled `fingerprint=yes`: a ConfigMap of the same name with the SHA-256 of its certificate.
import { hash } from "node:crypto";
import {
  ConfigMap,
  type ControllerDefinition,
  liveIn,
  loadConfig,
  managedBySelector,
  nameOf,
  ownedWriter,
  runOperator,
  Secret,
  stopSignal,
} from "@keyturn/runtime";

const operator = { name: "fingerprints", domain: "fingerprints.example" };

const fingerprints: ControllerDefinition = {
  name: "fingerprints",
  access: [
    { kind: Secret, verbs: ["list", "watch"], why: "to read certificates" },
    { kind: ConfigMap, verbs: ["get", "list", "watch", "create", "patch", "delete"], why: "to publish their digests" },
  ],
  setup({ watch, trigger }) {
    const digests = watch(Secret, { labels: "fingerprint=yes", keep: ({ data }) => hash("sha256", data?.["tls.crt"] ?? "") });
    const published = watch(ConfigMap, { labels: managedBySelector(operator) });
    trigger(digests);
    trigger(published);
    return async ({ key, client, signal }) => {
      const name = nameOf(key);
      const writer = ownedWriter({ client, operator, controller: "fingerprints", owner: { kind: Secret, name }, signal });
      const sha256 = digests.get(key);
      if (sha256 === undefined) await writer.remove(ConfigMap, name);
      else await writer.apply(ConfigMap, { metadata: name, data: { sha256 } }, liveIn(published, key));
    };
  },
};

await runOperator({ operator, connection: await loadConfig({ env: process.env }), controllers: [fingerprints] }, stopSignal());
