/*
 * ECDSA verification over secp256k1 (SEC 1, section 4.1.4). Web Crypto has no secp256k1, and this client has no
 * dependencies. It works with public values only, so its time need not be constant; never sign with this code.
 */

/** The field. */
const P = 2n ** 256n - 2n ** 32n - 977n;
/** The order of the group. */
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const G: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
  z: 1n,
};

/** A point in Jacobian coordinates: (x/z², y/z³); the point at infinity has z = 0. */
interface Point {
  x: bigint;
  y: bigint;
  z: bigint;
}

const INFINITY: Point = { x: 0n, y: 1n, z: 0n };

function mod(value: bigint, modulus: bigint): bigint {
  const rest = value % modulus;
  return rest < 0n ? rest + modulus : rest;
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = (result * base) % modulus;
    base = (base * base) % modulus;
  }
  return result;
}

function double({ x, y, z }: Point): Point {
  if (z === 0n || y === 0n) return INFINITY;
  const yy = mod(y * y, P);
  const s = mod(4n * x * yy, P);
  const m = mod(3n * x * x, P);
  const doubled = mod(m * m - 2n * s, P);
  return { x: doubled, y: mod(m * (s - doubled) - 8n * yy * yy, P), z: mod(2n * y * z, P) };
}

function add(a: Point, b: Point): Point {
  if (a.z === 0n) return b;
  if (b.z === 0n) return a;
  const [az, bz] = [mod(a.z * a.z, P), mod(b.z * b.z, P)];
  const [u1, u2] = [mod(a.x * bz, P), mod(b.x * az, P)];
  const [s1, s2] = [mod(a.y * bz * b.z, P), mod(b.y * az * a.z, P)];
  if (u1 === u2) return s1 === s2 ? double(a) : INFINITY;
  const h = mod(u2 - u1, P);
  const r = mod(s2 - s1, P);
  const hh = mod(h * h, P);
  const hhh = mod(h * hh, P);
  const v = mod(u1 * hh, P);
  const x = mod(r * r - hhh - 2n * v, P);
  return { x, y: mod(r * (v - x) - s1 * hhh, P), z: mod(h * a.z * b.z, P) };
}

/** a·G + b·Q. */
function combine(a: bigint, b: bigint, q: Point): Point {
  const both = add(G, q);
  let sum = INFINITY;
  for (let bit = 255n; bit >= 0n; bit--) {
    sum = double(sum);
    const [ofA, ofB] = [(a >> bit) & 1n, (b >> bit) & 1n];
    if (ofA && ofB) sum = add(sum, both);
    else if (ofA) sum = add(sum, G);
    else if (ofB) sum = add(sum, q);
  }
  return sum;
}

const toNumber = (bytes: Uint8Array): bigint => bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);

/** The point with this x and even y (BIP-340); `undefined` when there is none. */
function pointOf(x: bigint): Point | undefined {
  if (x >= P) return undefined;
  const square = mod(x * x * x + 7n, P);
  const root = power(square, (P + 1n) / 4n, P);
  if (mod(root * root, P) !== square) return undefined;
  return { x, y: root & 1n ? P - root : root, z: 1n };
}

/** Whether these bytes are a BIP-340 key. */
export function isPublicKey(bytes: Uint8Array): boolean {
  return bytes.length === 32 && pointOf(toNumber(bytes)) !== undefined;
}

/**
 * Whether `signature` (r and s, 64 bytes) is one of the 32 bytes of `digest` by a BIP-340 key: the point with this x and
 * even y. Either s is valid, as RFC 8812 has it: the high one of a signature and the low one.
 */
export function verifyEcdsa(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== 64 || digest.length !== 32 || publicKey.length !== 32) return false;
  const [r, s, x] = [toNumber(signature.subarray(0, 32)), toNumber(signature.subarray(32)), toNumber(publicKey)];
  if (r === 0n || r >= N || s === 0n || s >= N) return false;
  const key = pointOf(x);
  if (!key) return false;
  const inverse = power(s, N - 2n, N);
  const point = combine(mod(toNumber(digest) * inverse, N), mod(r * inverse, N), key);
  if (point.z === 0n) return false;
  const affine = mod(point.x * power(mod(point.z * point.z, P), P - 2n, P), P);
  return affine % N === r;
}
