/** How to start the Chromium of the machine. The variable `CHROMIUM` names another one. */

import { existsSync } from "node:fs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

function startFrom(places: string[]) {
  return process.env.CHROMIUM ?? places.find(existsSync) ?? "chromium";
}

export const CHROMIUM = {
  executablePath: startFrom(PLACES),
  // Containers have no user namespaces for the sandbox. The pages are those of this repository.
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
};

/** Chromium without the code for windows, if it is installed: it takes half of the CPU. It shows no notifications. */
export const HEADLESS = {
  ...CHROMIUM,
  executablePath: startFrom(["/usr/bin/chromium-headless-shell", ...PLACES]),
};
