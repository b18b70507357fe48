/** Free ports of this machine. */

import { type AddressInfo, createServer } from "node:net";

/** Return a port that no process used when it was chosen. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
