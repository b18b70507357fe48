import { defineConfig } from "vite";

export default defineConfig({
  // The token endpoint of your own server.
  server: { proxy: { "/token": process.env.TOKEN_SERVER ?? "http://127.0.0.1:5180" } },
});
