// What the package exports is what test/surface.txt lists: who uses the client notices each change of a line, unless it adds
// something. `UPDATE_SURFACE=1 npm test` writes the list.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const index = fileURLToPath(new URL(process.env.USHER_TYPES ?? "../dist/esm/index.d.ts", import.meta.url));
const list = new URL("surface.txt", import.meta.url);

function* surface() {
  const program = ts.createProgram([index], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    types: [],
  });
  const checker = program.getTypeChecker();
  const printer = ts.createPrinter({ removeComments: true });
  const print = (node) => printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()).replace(/\s+/g, " ");
  const resolve = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(index)));
  const symbols = new Set(exported.map(resolve));

  function* members(name, node) {
    for (const { types } of node.heritageClauses ?? []) {
      for (const type of types) {
        const base = checker.getTypeAtLocation(type.expression).symbol;
        if (base && !symbols.has(base)) for (const from of base.declarations) yield* members(name, from);
      }
    }
    for (const member of node.members) {
      if (member.name && ts.isPrivateIdentifier(member.name)) continue;
      // The schemas of the API: a line for each.
      if (member.type && ts.isTypeLiteralNode(member.type))
        yield* members(`${name}.${print(member.name)}`, member.type);
      else yield `${name}: ${print(member)}`;
    }
  }
  for (const symbol of symbols) {
    for (const node of symbol.declarations) {
      if (node.members) yield* members(symbol.name, node);
      else yield print(node);
    }
  }
}

test("the package exports what it did", () => {
  const now = `${[...surface()].sort().join("\n")}\n`;
  if (process.env.UPDATE_SURFACE) writeFileSync(list, now);
  assert.equal(now, readFileSync(list, "utf8"));
});
