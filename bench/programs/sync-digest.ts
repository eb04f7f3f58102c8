// Keeps the SHA-256 of each Secret's certificate, and nothing else of it.
import { hash } from "node:crypto";
import { Secret } from "@keyturn/runtime";
import { reportSync, seeded } from "./synced-cache.ts";

const certificateDigest = (secret: Secret): string => hash("sha256", Buffer.from(secret.data?.["tls.crt"] ?? "", "base64"), "hex");

await reportSync((caches) => caches.watch(Secret, { ...seeded, keep: certificateDigest }));
