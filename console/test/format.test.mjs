// What the console writes: amounts, times, and texts of strangers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

process.env.TZ = "Europe/Berlin";
const { outputFiles } = await build({
  entryPoints: [new URL("../src/format.ts", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  write: false,
});
const format = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);

test("amounts that people type", () => {
  for (const [text, currency, amount] of [
    ["1234", "sats", 1234],
    ["1,234", "sats", 1234],
    ["1 234", "sats", 1234],
    ["1.50", "EUR", 150],
    ["1,5", "EUR", 150],
    ["1,234.56", "EUR", 123456],
    ["500", "JPY", 500],
    ["0.001", "EUR", undefined],
    ["1.5", "sats", undefined],
    ["0", "sats", undefined],
    ["-1", "sats", undefined],
    ["1e5", "sats", undefined],
    ["99999999999999999", "sats", undefined],
    ["", "sats", undefined],
  ])
    assert.equal(format.parseAmount(text, currency), amount, `${text} ${currency}`);
});

test("amounts of the API", () => {
  assert.equal(format.sats(1_234_000), "1,234 sat");
  assert.equal(format.sats(1_500), "1.5 sat");
  assert.equal(format.amountIn(21_000, "millisats"), "21 sat");
  assert.equal(format.amountIn(21, "sats"), "21 sat");
  assert.match(format.amountIn(150, "EUR"), /1[.,]50/);
  assert.equal(format.amountIn(5, "tokens"), "5 TOKENS");
});

test("a text of a stranger hides nothing", () => {
  assert.equal(format.visible("pay\u202Egnp.exe"), "pay\uFFFDgnp.exe");
  assert.equal(format.visible("a\u200Bb\u2066c\u0000d"), "a\uFFFDb\uFFFDc\uFFFDd");
  assert.equal(format.visible("two\r\nlines"), "two lines");
  assert.equal(format.visible("👩‍🚀 مرحبا"), "👩‍🚀 مرحبا");
});

test("a cell of a CSV file is no formula", () => {
  assert.equal(format.csvCell("=1+1"), "'=1+1");
  assert.equal(format.csvCell('a "b", c'), '"a ""b"", c"');
  assert.equal(format.csvCell(-5), "-5");
  assert.equal(format.csvCell(undefined), "");
});

test("days begin in the browser's zone, also where clocks change", () => {
  const at = Date.UTC(2026, 2, 29, 12) / 1000; // clocks went forward at 02:00
  assert.equal(format.startOfDay(at), Date.UTC(2026, 2, 28, 23) / 1000);
  assert.equal(format.startOfDay(at, -1), Date.UTC(2026, 2, 29, 22) / 1000);
});
