/** How to start the Chromium of the machine. The variable `CHROMIUM` names another one. */

import { existsSync } from "node:fs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const CHROMIUM = {
  executablePath: process.env.CHROMIUM ?? PLACES.find(existsSync) ?? "chromium",
  // Containers have no user namespaces for the sandbox. The pages are those of this repository.
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
};
