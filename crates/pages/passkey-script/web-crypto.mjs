// For the tests: Node 18 has the browsers' `crypto` in a module alone.
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;
