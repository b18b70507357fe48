/** Build the page of the tests and serve it on a free port. */

import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build, preview } from "vite";

const CONFIG = fileURLToPath(new URL("../app/vite.config.ts", import.meta.url));

export interface PageServer {
  url: string;
  close(): Promise<void>;
}

export async function servePage(): Promise<PageServer> {
  await build({ configFile: CONFIG, logLevel: "error" });
  const server = await preview({
    configFile: CONFIG,
    preview: { port: 0, host: "127.0.0.1" },
    logLevel: "error",
  });
  const { port } = server.httpServer.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}
