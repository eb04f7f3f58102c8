// The commands that somebody would type to see, or to change, what the page of an object shows.
import type { CommandView, DashboardRecord, ObjectRef } from "@keyturn/dashboard/contract";
import { abandonAnnotation } from "../../controllers/eventing-auth/api.ts";
import { revokeAnnotation } from "../../controllers/jwks/api.ts";
import { pausedAnnotation } from "../../controllers/attention.ts";
import { consentLabel } from "../../controllers/sidecars/marks.ts";

/** The commands for an object. Names of objects need no quotes: Kubernetes allows no character in them that a shell would take for something else. */
export function objectCommands(ref: ObjectRef, record: DashboardRecord | undefined): readonly CommandView[] {
  const { resource, namespace, name } = ref;
  const where = namespace === "" ? "" : ` -n ${namespace}`;
  const object = `${resource} ${name}${where}`;
  return [
    { what: "see it", command: `kubectl get ${object} -o yaml` },
    { what: "see it in words, with its Events", command: `kubectl describe ${object}` },
    { what: "follow its Events", command: `kubectl events${where} --for ${resource}/${name} --watch` },
    ...(record ? ownCommands(ref, record, where) : []),
  ];
}

function ownCommands({ resource, name }: ObjectRef, record: DashboardRecord, where: string): readonly CommandView[] {
  const pause = { what: "leave it as it is for now", command: `kubectl annotate ${resource} ${name}${where} ${pausedAnnotation}=true` };
  switch (record.type) {
    case "rotationSet":
      return [
        { what: "what happens next, and when", command: `keyturn plan ${record.set}${where}` },
        { what: "what has happened", command: `keyturn history ${record.set}${where}` },
        pause,
      ];
    case "keySet": {
      const [key] = record.keys;
      const document = `kubectl get configmap ${record.configMap}${where} -o jsonpath='{.data.jwks\\.json}'`;
      return [
        { what: "see the document", command: document },
        ...(key ? [{ what: "withdraw a key at once", command: `kubectl annotate ${resource} ${name}${where} ${revokeAnnotation}=${key.kid}` }] : []),
        pause,
      ];
    }
    case "checksum":
    case "agent":
      return [{ what: "which Secrets differ", command: `keyturn diff${where}` }, ...(record.type === "checksum" ? [pause] : [])];
    case "issued":
      return [
        pause,
        ...(record.deletingSinceMs === undefined
          ? []
          : [
              {
                what: "let it go although its cluster does not answer",
                command: `kubectl annotate ${resource} ${name}${where} ${abandonAnnotation}=target`,
              },
            ]),
      ];
    case "workload":
      return [
        { what: "what would be restarted", command: `keyturn plan sidecars${where}` },
        { what: "how its rollout fares", command: `kubectl rollout status ${resource}/${name}${where}` },
        { what: "never restart it for its sidecar", command: `kubectl label ${resource} ${name}${where} ${consentLabel}=disabled` },
      ];
    case "step":
    default:
      return [];
  }
}
