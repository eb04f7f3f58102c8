// One application, always, and none left behind: every story of a small world in which one or two things go wrong, whatever they are and wherever.
import { isBeingDeleted } from "@keyturn/runtime";
import { describe, expect, test, vi } from "vitest";
import { askedAtAnnotation } from "../../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import type { Observation } from "../../../packages/keyturn/src/controllers/eventing-auth/observe.ts";
import { json, refusal } from "../../../packages/keyturn/src/dev/stand-ins/ias-protocol.ts";
import { explore, type Story } from "./exploration.ts";
import { BrokenPromise, type Mistake, type SmallWorld } from "./small-world.ts";
import type { Mishap } from "./troubled-tenant.ts";

/** With `EXPLORE=all`, every pair of mishaps at every two points: for hours with time to spare. */
const isThorough = process.env["EXPLORE"] === "all";
if (isThorough) vi.setConfig({ testTimeout: 24 * 3_600_000 });

/** Everything is as it should be in the end: when what is late, stale or wrong has passed, and the next check was made. */
async function comesRight(world: SmallWorld): Promise<void> {
  await world.settle();
  await world.pass(120_000);
  await world.settle();
  world.tenant.calm();
  await world.pass(3_700_000);
  await world.settle();
  if (!world.object || isBeingDeleted(world.object)) world.checkGone();
  else world.checkWhole();
}

const creation: Story = { act: comesRight };

const repair: Story = {
  prepare: (world) => world.settle(),
  async act(world) {
    world.deleteSecret();
    await comesRight(world);
  },
};

const rotation: Story = {
  prepare: (world) => world.settle(),
  async act(world) {
    await world.pass(90_000_000);
    await comesRight(world);
  },
};

const deletion: Story = {
  prepare: (world) => world.settle(),
  async act(world) {
    world.deleteObject();
    await comesRight(world);
  },
};

/** An application of the name is somebody else's, before the object comes and after it has gone. */
const namesake: Story = {
  async act(world) {
    const id = world.makeNamesake("somebody's");
    await world.settle();
    world.deleteObject();
    await world.settle();
    world.tenant.calm();
    await world.pass(3_700_000);
    const { secrets } = world.directory.get(id) ?? {};
    if (!secrets || secrets.length > 0) throw new BrokenPromise("somebody else's application was touched");
  },
};

test.each(Object.entries({ creation, repair, rotation, deletion }))("%s comes right whatever happens at any one point", async (_name, story) => {
  const { stories, broken } = await explore({ story, depth: 1 });
  expect(broken).toEqual([]);
  expect(stories).toBeGreaterThan(80);
});

/** What makes an application that nobody knows of, or hides one. */
const hardest: readonly Mishap[] = ["lost", "late", "twice", "unshown", "crash after", "the object is deleted"];

test.each(Object.entries({ creation, repair, deletion }))("%s comes right whatever two things happen around it", async (_name, story) => {
  const around = { first: /^(?:create|create-secret|delete|PATCH|POST) /, only: hardest, within: 3 };
  const { stories, broken } = await explore({ story, depth: 2, ...(!isThorough && around) });
  expect(broken).toEqual([]);
  expect(stories).toBeGreaterThan(100);
});

const withoutIntent = (observation: Observation): Observation => {
  const { askedAtMs: _forgotten, ...rest } = observation;
  const { [askedAtAnnotation]: _ignored, ...annotations } = observation.object.metadata.annotations ?? {};
  return { ...rest, object: { ...observation.object, metadata: { ...observation.object.metadata, annotations } } };
};

const nothingThere: Mistake["heard"] = (_answer, step) => (step.startsWith("find") ? json(200, { applications: [] }) : refusal(404, "gone"));

describe("a planted mistake is found:", () => {
  const mistakes: readonly (readonly [what: string, story: Story, mistake: Mistake])[] = [
    ["it does not matter when an application was asked for", creation, { observed: withoutIntent }],
    ["that one is asked for is not recorded before the request", creation, { swallows: (body) => body.includes(askedAtAnnotation) }],
    ["a process that stood still goes on as if nobody else could lead by now", creation, { ignoresTerm: true }],
    [
      "an empty 404 says that it is gone",
      deletion,
      { heard: (answer, step) => (answer.body === "" && answer.status === 404 ? nothingThere(answer, step) : answer) },
    ],
    ["a 401 says that it is gone", deletion, { heard: (answer, step) => (answer.status === 401 ? nothingThere(answer, step) : answer) }],
    [
      "a second one of ours does not matter",
      creation,
      {
        observed: (observation) => {
          const { tenant, object } = observation;
          const own = object.status?.iasApplication?.uuid;
          if (own === undefined || !tenant.namesakes) return observation;
          return { ...observation, tenant: { ...tenant, namesakes: tenant.namesakes.filter(({ id }) => id === own) } };
        },
      },
    ],
    [
      "a deletion ends without looking for what was never recorded",
      creation,
      {
        observed: (observation) =>
          isBeingDeleted(observation.object) ? withoutIntent({ ...observation, tenant: { namesakes: [], ...observation.tenant } }) : observation,
      },
    ],
    [
      "a name is proof enough",
      namesake,
      {
        observed: (observation) => {
          const { tenant } = observation;
          return tenant.namesakes
            ? { ...observation, tenant: { ...tenant, namesakes: tenant.namesakes.map(({ id }) => ({ id, trace: "ours" })) } }
            : observation;
        },
      },
    ],
  ];

  test.each(mistakes)("%s", async (_what, story, mistake) => {
    const { broken } = await explore({ story, mistake, depth: 1, untilBroken: true });
    expect(broken).toHaveLength(1);
  });

  test("nobody waits for a Secret of which nobody heard what became", async () => {
    const observed: Mistake["observed"] = ({ unheardAtMs: _forgotten, ...observation }) => observation;
    const only: readonly Mishap[] = ["the object is deleted", "late"];
    const { broken } = await explore({ story: repair, mistake: { observed }, only, depth: 2, untilBroken: true });
    expect(broken).toEqual([expect.stringContaining("a Secret is left")]);
  });

  test("and without it, the same stories come right", async () => {
    expect((await explore({ story: namesake, depth: 1 })).broken).toEqual([]);
  });
});
