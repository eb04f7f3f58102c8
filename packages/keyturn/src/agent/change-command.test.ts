// What `--on-change` makes of a text.
import { expect, test } from "vitest";
import { parseChangeCommand } from "./change-command.ts";

test.each([
  ["nginx -s reload", ["nginx", "-s", "reload"]],
  ["  nginx   -s\treload ", ["nginx", "-s", "reload"]],
  ['["sh","-c","nginx -t && nginx -s reload"]', ["sh", "-c", "nginx -t && nginx -s reload"]],
  ['["/opt/my gateway/reload"]', ["/opt/my gateway/reload"]],
])("%s", (text, words) => {
  expect(parseChangeCommand(text)).toEqual(words);
});

test.each([
  ["nginx -t && nginx -s reload", "no shell reads it, so & would not do what it looks like"],
  ["sh -c 'nginx -s reload'", "no shell reads it, so ' would not do what it looks like"],
  ["kill -HUP $(cat /run/nginx.pid)", "no shell reads it, so $ would not do what it looks like"],
  ["nginx -s reload > /dev/null", "no shell reads it, so > would not do what it looks like"],
  ["", "there is no program to run"],
  ["[]", "there is no program to run"],
  ["[nginx]", "it begins like a JSON array and is none"],
  ['["nginx", 1]', "it must be a JSON array of texts"],
])("%s is refused: %s", (text, message) => {
  expect(() => parseChangeCommand(text)).toThrow(message);
});
