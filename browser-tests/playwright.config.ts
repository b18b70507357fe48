import { defineConfig } from "@playwright/test";
import { HEADLESS } from "./stack/chromium.ts";

export default defineConfig({
  testDir: "tests",
  outputDir: "results/failures",
  globalSetup: "./stack/global_setup.ts",
  // Tests share one installation on a machine with few cores.
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    launchOptions: HEADLESS,
    viewport: { width: 1100, height: 720 },
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    // `--trace retain-on-failure` records every step, for twice the CPU.
    trace: "off",
    screenshot: "only-on-failure",
  },
});
