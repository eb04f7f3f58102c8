// Keeps whole Secrets, less managedFields: the runtime's default, and what the peers keep.
import { Secret } from "@keyturn/runtime";
import { reportSync, seeded } from "./synced-cache.ts";

await reportSync((caches) => caches.watch(Secret, seeded));
