// Every right that the agent needs, all of them in its own namespace.
import { type AccessRule, Lease, Secret } from "@keyturn/runtime";
import { SecretCheckSum } from "../controllers/checksum/api.ts";

export const agentAccess: readonly AccessRule[] = [
  { kind: Secret, verbs: ["get", "list", "watch"], why: "to compute their checksum, and to put certificates and keys on the disk" },
  { kind: SecretCheckSum, verbs: ["list", "watch"], why: "to know which state is the intended one" },
  { kind: Lease, verbs: ["get", "create", "patch", "delete"], why: "to show how the agent fares (not needed with --lease=false)" },
];
