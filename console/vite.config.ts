import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

export default defineConfig({
  root: fromRoot("console"),
  plugins: [react()],
  build: {
    outDir: fromRoot("server/src/tidings/api/console/assets"),
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
  },
  // For work on the console: `TIDINGS_CONSOLE=http://127.0.0.1:8090 npm run dev`.
  server: { proxy: { "/admin": process.env.TIDINGS_CONSOLE ?? "http://127.0.0.1:8090" } },
});
