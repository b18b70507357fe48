import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Render counters and the StrictMode checks need the development build of React; `bench web` sets "production".
  mode: process.env.TIDINGS_WEB_MODE ?? "production",
  build: {
    outDir: "../results/app",
    emptyOutDir: true,
    target: "es2023",
    rolldownOptions: {
      input: {
        page: fileURLToPath(new URL("index.html", import.meta.url)),
        push_worker: fileURLToPath(new URL("src/push_worker.ts", import.meta.url)),
      },
      // A service worker has an address that never changes.
      output: {
        entryFileNames: ({ name }) => (name === "push_worker" ? "[name].js" : "assets/[name]-[hash].js"),
      },
    },
  },
});
