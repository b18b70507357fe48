/**
 * Start the installation and the page before the first test, and stop both after the last one.
 *
 * `TIDINGS_WEB_INSTALLATION` names a running installation to use instead: {"directory": "…", "pid": 1}.
 */

import { servePage } from "./app_server.ts";
import { Installation } from "./installation.ts";
import { createWebPushKey } from "./push_service.ts";

/** Tests send faster than people, and do not wait until a process reads a changed setting of its tenant. */
export const SETTINGS = {
  TIDINGS_ACCOUNTS_TENANT_REFRESH_S: "1",
  TIDINGS_LIMITS_USER_RATE: "5000/s",
  TIDINGS_LIMITS_USER_BURST: "5000",
  TIDINGS_LIMITS_ADDRESS_RATE: "5000/s",
  TIDINGS_LIMITS_ADDRESS_BURST: "5000",
  TIDINGS_LIMITS_TENANT_RATE: "5000/s",
  TIDINGS_LIMITS_TENANT_BURST: "5000",
};

export default async function setup(): Promise<() => Promise<void>> {
  const given = process.env.TIDINGS_WEB_INSTALLATION;
  const starting = given ? Installation.at(JSON.parse(given)) : Installation.start(SETTINGS);
  const [installation, page] = await Promise.all([starting, servePage()]);
  process.env.TIDINGS_WEB_INSTALLATION = JSON.stringify(installation.handle);
  process.env.TIDINGS_WEB_PAGE = page.url;
  // Before the first test: a gateway that looked for the key and found none looks again after 30 seconds only.
  process.env.TIDINGS_WEB_PUSH_KEY = createWebPushKey(installation);
  return async () => {
    await page.close();
    await installation.stop();
  };
}
