import type { TestProject } from "vitest/node";
import { Installation, type InstallationHandle } from "../../browser-tests/stack/installation.ts";

declare module "vitest" {
  export interface ProvidedContext {
    installation: InstallationHandle;
  }
}

/** Start one installation for all tests, or use the one that `TIDINGS_WEB_INSTALLATION` describes. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.TIDINGS_WEB_INSTALLATION;
  if (given) {
    project.provide("installation", JSON.parse(given));
    return undefined;
  }
  const installation = await Installation.start();
  project.provide("installation", installation.handle);
  return () => installation.stop();
}
