// When a feature may do what people would rather have at night, as two flags.
import { type MaintenanceWindows, parseMaintenanceWindows, parseTimeZone } from "../controllers/maintenance-window.ts";
import { type Flag, listFlag, textFlagWithDefault } from "./flag.ts";

/** The flags of one feature; `what` is what its windows are for, such as `workloads may be restarted`. */
export function maintenanceFlags(
  feature: string,
  what: string,
): { readonly maintenanceWindows: Flag<Omit<MaintenanceWindows, "timeZone">>; readonly maintenanceTimeZone: Flag<string> } {
  const windows = listFlag({
    name: `${feature}.maintenance-windows`,
    help: `when ${what}, such as 22:00-04:00 or Mon-Fri 22:00-04:00,Sat 00:00-24:00; otherwise at any time`,
  });
  const zone = textFlagWithDefault({
    name: `${feature}.maintenance-time-zone`,
    placeholder: "ZONE",
    default: "UTC",
    help: "the time zone of the maintenance windows, such as Europe/Berlin",
  });
  return {
    maintenanceWindows: { ...windows, placeholder: "A,B,…", parse: (text) => parseMaintenanceWindows(windows.parse(text)) },
    maintenanceTimeZone: { ...zone, parse: (text) => parseTimeZone(zone.parse(text)) },
  };
}
