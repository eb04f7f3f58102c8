// Keeps, and transfers, the Secrets' metadata only.
import { Secret } from "@keyturn/runtime";
import { reportSync, seeded } from "./synced-cache.ts";

await reportSync((caches) => caches.watch(Secret, { ...seeded, only: "metadata" }));
