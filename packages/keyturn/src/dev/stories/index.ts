// The stories of `keyturn dev`, one for each step of a credential's life that needs one.
import { issueStory } from "./issue.ts";
import { rollOutStory } from "./roll-out.ts";
import { rotateStory } from "./rotate.ts";
import type { BeginStory } from "./story.ts";

export const stories: readonly BeginStory[] = [issueStory, rotateStory, rollOutStory];
