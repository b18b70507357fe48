/** Join the stylesheets into dist/styles.css. */
import { mkdir, readFile, writeFile } from "node:fs/promises";

const parts = ["base", "parts", "chat", "log", "message", "composer", "inbox"];
const folder = new URL("../src/styles/", import.meta.url);
const styles = await Promise.all(parts.map((part) => readFile(new URL(`${part}.css`, folder), "utf8")));
await mkdir(new URL("../dist/", import.meta.url), { recursive: true });
await writeFile(new URL("../dist/styles.css", import.meta.url), styles.join("\n"));
