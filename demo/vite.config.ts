import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

export default defineConfig({
  root: fromRoot("demo"),
  plugins: [react()],
  resolve: {
    // The sources of the packages, not their builds: `just setup` need not build them first, and with
    // `tidings dev --web-dev` a change of a component shows at once.
    alias: [
      { find: /^@tidings\/client$/, replacement: fromRoot("sdk-typescript/src/index.ts") },
      { find: /^@tidings\/react$/, replacement: fromRoot("react/src/index.ts") },
      { find: /^@tidings\/react\/styles.css$/, replacement: fromRoot("react/src/styles/index.css") },
    ],
  },
  build: {
    outDir: fromRoot("server/src/tidings/dev/build/demo"),
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
  },
  server: {
    fs: { allow: [fromRoot(".")] },
    // The server of `tidings dev` accepts requests for its own host only.
    proxy: {
      "/demo": { target: process.env.TIDINGS_DEMO_SERVER ?? "http://127.0.0.1:8070", changeOrigin: true },
    },
  },
});
