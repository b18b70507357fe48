/** Join the stylesheets of index.css into dist/styles.css, in their order. */
import { mkdir, readFile, writeFile } from "node:fs/promises";

const folder = new URL("../src/styles/", import.meta.url);
const index = await readFile(new URL("index.css", folder), "utf8");
const parts = [...index.matchAll(/@import "(.+?)";/g)].map(([, path = ""]) => path);
const styles = await Promise.all(parts.map((path) => readFile(new URL(path, folder), "utf8")));
await mkdir(new URL("../dist/", import.meta.url), { recursive: true });
await writeFile(new URL("../dist/styles.css", import.meta.url), styles.join("\n"));
