// The difference of long lists.
import { expect, test } from "vitest";
import { differenceOf } from "./difference.ts";

test("among 200,000 ids the ones that differ are found without comparing each with each", () => {
  const ids = Array.from({ length: 200_000 }, (_, index) => `${index}-1`);
  const published = ids.map((id) => (id === "77777-1" ? "77777-2" : id));
  expect(differenceOf([...ids, "new-1"], published.toReversed())).toEqual({ notPublished: ["77777-1", "new-1"], notLive: ["77777-2"] });
});
