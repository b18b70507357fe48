// Parse an AsyncAPI document with AsyncAPI's own parser, then validate frames with its schemas, which the parser
// does not. Standard input: {document, frames: [[schema, frame], …]}. Prints the results as JSON.
const { readFileSync } = require("node:fs");
const { Parser } = require("@asyncapi/parser");
const Ajv = require("ajv/dist/2020");

const { document: given, frames } = JSON.parse(readFileSync(0, "utf8"));

const ajv = new Ajv({ strict: false, logger: false });
ajv.addSchema({ $id: "asyncapi", components: given.components });
const isValid = ([schema, frame]) => ajv.validate({ $ref: `asyncapi#/components/schemas/${schema}` }, frame);

new Parser().parse(JSON.stringify(given)).then(({ document, diagnostics }) => {
  const found = diagnostics.map(({ code, message, path, severity }) => ({ code, message, path, severity }));
  const operations = document ? document.allOperations().all().length : 0;
  const messages = document ? document.allMessages().all().length : 0;
  const valid = document ? frames.map(isValid) : [];
  process.stdout.write(JSON.stringify({ found, operations, messages, valid }));
});
