// Rotate: somebody who renews the signing key now and then, as cert-manager would.
import { Secret } from "@keyturn/runtime";
import { createAuthority } from "@keyturn/runtime/testing";
import { again, type BeginStory } from "./story.ts";

/** The source of the rotation set in examples/rotate. */
const source = { namespace: "keyturn-examples", name: "signing-key" };
const renewEveryMs = 45_000;

export const rotateStory: BeginStory = async ({ client }) => ({
  // The delays of the example are seconds instead of an hour, so keys must be published within seconds, too.
  flags: { "jwks.configmap-interval": "1s", "jwks.reconcile-interval": "1s" },
  happen: (signal) =>
    again(renewEveryMs, signal, async () => {
      const { certificate, privateKey } = createAuthority("signing-key.keyturn-examples");
      const data = { "tls.crt": Buffer.from(certificate).toString("base64"), "tls.key": Buffer.from(privateKey).toString("base64") };
      await client.mergePatch(Secret, source, { data }, { fieldManager: "dev" });
    }),
});
