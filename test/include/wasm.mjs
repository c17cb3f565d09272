// Runs the freestanding build where there is a JavaScript engine.
import { readFileSync } from 'node:fs';
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const got = [0, 1, 2].map((protocol) => instance.exports.first_send(protocol));
const expected = [1, 1, 2]; // none, coordinated: TRANSMIT; hydee: TRANSMIT, RETAIN
if (String(got) !== String(expected)) {
  console.error(`effects of a first send: expected ${expected}, got ${got}`);
  process.exit(1);
}
