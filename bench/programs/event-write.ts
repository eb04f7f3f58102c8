// An Event as large as the operator's, for loops that make the same writes as it does.
import { type Client, Event, type Kind, type ObjectName } from "@keyturn/runtime";

/** Tells something about an object. */
export async function writeEvent(client: Client, kind: Kind, { namespace = "", name }: ObjectName): Promise<void> {
  const event: Event = {
    metadata: { namespace, generateName: `${name}-` },
    eventTime: new Date().toISOString().replace("Z", "000Z"),
    type: "Normal",
    reason: "SomethingHappened",
    action: "Reconcile",
    note: "something happened that is told in about as many words as the operator would use for it",
    reportingController: "keyturn.io/bench",
    reportingInstance: "bench",
    regarding: { apiVersion: `${kind.group}/${kind.version}`, kind: kind.kind, namespace, name },
  };
  await client.create(Event, event, { answer: "metadata" });
}
