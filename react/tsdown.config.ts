import { defineConfig } from "tsdown";

export default defineConfig({
  entry: { index: "src/index.ts", locales: "src/locales/index.ts" },
  format: "esm",
  dts: true,
  clean: true,
  fixedExtension: false,
  platform: "neutral",
  outputOptions: {
    // Components run in the browser. Locales are plain data, which a server component may pass on.
    banner: ({ name }) => (name === "index" ? '"use client";' : ""),
  },
});
