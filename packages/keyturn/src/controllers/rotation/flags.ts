// What can be rotated besides Secrets and ConfigMaps, as a flag.
import type { Kind } from "@keyturn/runtime";
import { type Flag, listFlag } from "../../flags/flag.ts";
import { parseSourceKind } from "./source-kinds.ts";

const list = listFlag({
  name: "rotation.kinds",
  placeholder: "PLURAL.VERSION.GROUP,…",
  help: "more kinds that can be rotated, besides Secrets and ConfigMaps, such as certificates.v1.cert-manager.io; each adds watches and rights",
});

const kinds: Flag<readonly Kind[]> = { ...list, parse: (text) => list.parse(text).map(parseSourceKind) };

export const rotationFlags = { kinds };
