// What happens next to an object, in words.
import type { ObjectRecord } from "./step-records.ts";

/** For records whose `nextMs` is known. */
export function nextText(record: ObjectRecord): string {
  switch (record.type) {
    case "issued":
      return "the credentials are rotated";
    case "rotationSet": {
      const lane = record.lanes.find(({ planned }) => planned[0]?.atMs === record.nextMs);
      const seq = lane?.planned[0]?.seq;
      return lane === undefined
        ? "a version moves on"
        : seq === undefined
          ? `${lane.target.name} is emptied`
          : `${lane.target.name} gets version ${seq}`;
    }
    case "keySet":
      return record.nextMs === record.nextExpiryMs ? "a certificate expires" : "a replaced key is removed";
    case "checksum":
      return "an announced state is given up";
    case "agent":
      return "the agent should have been heard of again";
    case "workload":
    default:
      return record.decision?.type === "wait" ? "it may be restarted" : "it is looked at again";
  }
}
