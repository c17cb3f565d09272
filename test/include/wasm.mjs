// Runs the freestanding build where there is a JavaScript engine.
import { readFileSync } from 'node:fs';
const [file, names] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
const known = { none: 1, coordinated: 1, hydee: 2, recovery: 0 }; // TRANSMIT; hydee: RETAIN too; recovery runs no programs
names.split(',').concat('').forEach((name, protocol) => {
  const got = instance.exports.first_send(protocol), expected = name === '' ? -1 : known[name];
  if (got === expected || (expected === undefined && got >= 1)) return;
  const what = `${name || 'behind the last protocol'}: expected ${expected ?? '1 or more'}, got ${got}`;
  console.error(`effects of a first send, ${what}`);
  process.exitCode = 1;
});
