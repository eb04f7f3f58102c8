// Folders into which somebody else could put certificates are made safe, or refused with what to do.
import { chmod, mkdir, rename, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { type Disk, systemDisk } from "./disk.ts";
import { secureFolder } from "./folder-check.ts";
import { testFolder } from "./snapshot.fixture.ts";

const warnings: string[] = [];
const log: Logger = { debug() {}, info() {}, warn: (_, message) => void warnings.push(message), error() {}, child: () => log };

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o7777).toString(8);

test("a folder that is not there is made for its owner alone", async () => {
  const folder = join(await testFolder(), "a", "b");
  await secureFolder(systemDisk, folder, log);
  expect(await modeOf(folder)).toBe("700");
});

test.each(["", "generations"])("others can no longer write to FOLDER/%s, and the log says so", async (within) => {
  const folder = await testFolder();
  const path = join(folder, within);
  await mkdir(path, { recursive: true });
  await chmod(path, 0o777);
  warnings.length = 0;
  await secureFolder(systemDisk, folder, log);
  expect(await modeOf(path)).toBe("755");
  expect(warnings).toEqual(["others could write to the agent's folder; now they cannot"]);
});

test("one whose mode cannot be changed is refused if anybody can write to it, and told about if a group can", async () => {
  const folder = await testFolder();
  const foreign: Disk = { ...systemDisk, setMode: () => Promise.reject(new Error("EPERM")) };
  await chmod(folder, 0o777);
  await expect(secureFolder(foreign, folder, log)).rejects.toThrow(`${folder} has mode 777, so that anybody can put certificates into it`);
  await chmod(folder, 0o2775);
  warnings.length = 0;
  await secureFolder(foreign, folder, log);
  expect(warnings).toEqual(["the folder's group can write to the agent's folder"]);
});

test("a planted link for the snapshots is not followed", async () => {
  const folder = await testFolder();
  await mkdir(join(folder, "elsewhere"));
  await symlink(join(folder, "elsewhere"), join(folder, "generations"));
  await expect(secureFolder(systemDisk, folder, log)).rejects.toMatchObject({
    code: "UnsafeFolder",
    message: expect.stringContaining("is a symbolic link"),
  });
});

test("a link in place of the folder, and a file, are refused", async () => {
  const folder = await testFolder();
  await mkdir(join(folder, "real"));
  await symlink(join(folder, "real"), join(folder, "link"));
  await expect(secureFolder(systemDisk, join(folder, "link"), log)).rejects.toThrow("is a symbolic link");
  await rename(join(folder, "real"), join(folder, "other"));
  await writeFile(join(folder, "real"), "");
  await expect(secureFolder(systemDisk, join(folder, "real"), log)).rejects.toThrow("EEXIST");
});

test("a folder of another user is refused", async () => {
  const folder = await testFolder();
  const others: Disk = { ...systemDisk, inspect: () => Promise.resolve({ type: "folder", isOurs: false, mode: 0o700 }) };
  await expect(secureFolder(others, folder, log)).rejects.toThrow("belongs to another user");
});
