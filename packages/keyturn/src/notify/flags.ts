// Where notifications go and what is told there, as flags of `keyturn run`.
import { choiceFlag, textFlag } from "../flags/flag.ts";

/** How much is told: what is wrong; that and what happens to credentials; everything. */
const notifiedEvents = ["warnings", "life", "all"] as const;
export type NotifiedEvents = (typeof notifiedEvents)[number];

/** What a message looks like. */
const notificationFormats = ["generic", "slack"] as const;
export type NotificationFormat = (typeof notificationFormats)[number];

export const notifyFlags = {
  notifyUrlFile: textFlag({
    name: "notify.url-file",
    placeholder: "FILE",
    help: "a file with the URL of a webhook to tell what happens; the URL is a secret, and is read anew when the file changes; otherwise nobody is told",
  }),
  notifyFormat: choiceFlag({
    name: "notify.format",
    choices: notificationFormats,
    default: "generic",
    help: "generic: a JSON object with all there is to know; slack: a text, as Slack, Mattermost and Rocket.Chat take it",
  }),
  notifyEvents: choiceFlag({
    name: "notify.events",
    choices: notifiedEvents,
    default: "life",
    help: "warnings: what is wrong; life: that, and what happens to credentials; all: every Event",
  }),
  notifyCluster: textFlag({ name: "notify.cluster", placeholder: "NAME", help: "the name of this cluster in notifications" }),
};
