/** Generate the types and the table of operations from `protocol/openapi.json`. */

import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";

const SOURCE = new URL("../../protocol/openapi.json", import.meta.url);
const TARGET = new URL("../src/", import.meta.url);
const HEAD = "// Generated from protocol/openapi.json by `just web gen`.\n\n";

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string }[];
}

const document = JSON.parse(await readFile(SOURCE, "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
};

function operationTable(): string {
  const rows = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => row(path, method, operation)),
  );
  return `${HEAD}/** By operation: method, path, and whether the operation accepts an idempotency key. */
export const OPERATIONS = {\n${rows.join("\n")}\n} as const;\n`;
}

function row(path: string, method: string, operation: Operation): string {
  const hasKey = (operation.parameters ?? []).some(({ name }) => name === "Idempotency-Key");
  return `  ${operation.operationId}: ["${method.toUpperCase()}", "${path}", ${hasKey}],`;
}

const types = astToString(
  await openapiTS(document as unknown as OpenAPI3, {
    alphabetize: true,
    // A field with a default is optional in a request.
    defaultNonNullable: false,
  }),
);
await writeFile(new URL("api.gen.ts", TARGET), HEAD + types);
await writeFile(new URL("operations.gen.ts", TARGET), operationTable());
