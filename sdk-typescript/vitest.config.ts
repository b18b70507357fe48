import { defineConfig } from "vitest/config";

// Waits in tests have a deadline of 5 s and explain themselves, so the test must not end before them.
export default defineConfig({ test: { include: ["tests/**/*.test.ts"], testTimeout: 20_000 } });
