// The flags that say which objects the operator looks after. They are the operator's, and each feature reads them.
import { type LabelMatcher, parseLabelSelector } from "@keyturn/runtime";
import { type Flag, listFlag, textFlag } from "./flag.ts";

const selectorText = textFlag({
  name: "selector",
  placeholder: "LABELS",
  help: "look after only those objects that have these labels, such as team=a,!legacy: JWKSConfigs, RotationTargets, EventingAuths, Kymas and workloads; all others are left as they are",
});

const selector: Flag<LabelMatcher> = { ...selectorText, parse: (text = "") => parseLabelSelector(text) };

export const attentionFlags = {
  selector,
  skipNamespaces: listFlag({ name: "skip-namespaces", help: "leave everything in these namespaces as it is" }),
};
