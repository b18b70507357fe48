import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The preview of all components: `npm run dev`. */
export default defineConfig({
  root: fileURLToPath(new URL("preview", import.meta.url)),
  plugins: [react()],
  resolve: {
    alias: { "@tidings/client": fileURLToPath(new URL("../sdk-typescript/src/index.ts", import.meta.url)) },
  },
  build: { outDir: fileURLToPath(new URL(".preview", import.meta.url)), emptyOutDir: true },
});
