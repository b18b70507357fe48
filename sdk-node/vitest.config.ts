import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { include: ["tests/**/*.test.ts"], globalSetup: "tests/installation.setup.ts", hookTimeout: 300_000 },
});
