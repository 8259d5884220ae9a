package usher.client.verify;

import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/** Verification of ECDSA over secp256k1 (SEC 1, section 4.1.4), which the JDK lost with version 16. It holds no secrets. */
final class Secp256k1Ecdsa {
    private static final BigInteger P = hex("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC2F");
    /** The order of the group. */
    static final BigInteger N = hex("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141");

    private static final BigInteger SEVEN = BigInteger.valueOf(7);
    private static final Point G = new Point(
            hex("79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798"),
            hex("483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8"),
            BigInteger.ONE);

    private Secp256k1Ecdsa() {}

    /** In Jacobian coordinates: (x/z², y/z³). The point at infinity has z = 0. */
    private record Point(BigInteger x, BigInteger y, BigInteger z) {
        static final Point INFINITY = new Point(BigInteger.ONE, BigInteger.ONE, BigInteger.ZERO);

        boolean isInfinity() {
            return z.signum() == 0;
        }

        Point twice() {
            if (isInfinity() || y.signum() == 0) {
                return INFINITY;
            }
            BigInteger ySquared = y.multiply(y).mod(P);
            BigInteger s = x.multiply(ySquared).shiftLeft(2).mod(P);
            BigInteger m = x.multiply(x).multiply(BigInteger.valueOf(3)).mod(P);
            BigInteger newX = m.multiply(m).subtract(s.shiftLeft(1)).mod(P);
            BigInteger newY = m.multiply(s.subtract(newX)).subtract(ySquared.multiply(ySquared).shiftLeft(3)).mod(P);
            return new Point(newX, newY, y.multiply(z).shiftLeft(1).mod(P));
        }

        Point plus(Point other) {
            if (isInfinity()) {
                return other;
            }
            if (other.isInfinity()) {
                return this;
            }
            BigInteger zSquared = z.multiply(z).mod(P);
            BigInteger otherZSquared = other.z.multiply(other.z).mod(P);
            BigInteger u = x.multiply(otherZSquared).mod(P);
            BigInteger otherU = other.x.multiply(zSquared).mod(P);
            BigInteger s = y.multiply(otherZSquared).multiply(other.z).mod(P);
            BigInteger otherS = other.y.multiply(zSquared).multiply(z).mod(P);
            BigInteger h = otherU.subtract(u).mod(P);
            BigInteger r = otherS.subtract(s).mod(P);
            if (h.signum() == 0) {
                return r.signum() == 0 ? twice() : INFINITY;
            }
            BigInteger hSquared = h.multiply(h).mod(P);
            BigInteger hCubed = hSquared.multiply(h).mod(P);
            BigInteger v = u.multiply(hSquared).mod(P);
            BigInteger newX = r.multiply(r).subtract(hCubed).subtract(v.shiftLeft(1)).mod(P);
            BigInteger newY = r.multiply(v.subtract(newX)).subtract(s.multiply(hCubed)).mod(P);
            return new Point(newX, newY, h.multiply(z).multiply(other.z).mod(P));
        }

        Point times(BigInteger scalar) {
            Point sum = INFINITY;
            for (int bit = scalar.bitLength() - 1; bit >= 0; bit--) {
                sum = sum.twice();
                if (scalar.testBit(bit)) {
                    sum = sum.plus(this);
                }
            }
            return sum;
        }
    }

    /** The point with this x and an even y (BIP-340), or null if there is none. */
    private static @Nullable Point withEvenY(BigInteger x) {
        if (x.compareTo(P) >= 0) {
            return null;
        }
        BigInteger square = x.modPow(BigInteger.valueOf(3), P).add(SEVEN).mod(P);
        BigInteger y = square.modPow(P.add(BigInteger.ONE).shiftRight(2), P);
        if (!y.multiply(y).mod(P).equals(square)) {
            return null;
        }
        return new Point(x, y.testBit(0) ? P.subtract(y) : y, BigInteger.ONE);
    }

    /**
     * Whether a signature is valid. Either S is, as RFC 8812 has it: the high one of a signature and the low one.
     *
     * @param publicKey 32 bytes: the x of a point with even y
     * @param hash of the message
     * @param signature r and s, 32 bytes each
     */
    static boolean verify(byte[] publicKey, byte[] hash, byte[] signature) {
        if (publicKey.length != 32 || hash.length != 32 || signature.length != 64) {
            return false;
        }
        Point key = withEvenY(new BigInteger(1, publicKey));
        BigInteger r = new BigInteger(1, signature, 0, 32);
        BigInteger s = new BigInteger(1, signature, 32, 32);
        if (key == null || r.signum() == 0 || r.compareTo(N) >= 0 || s.signum() == 0 || s.compareTo(N) >= 0) {
            return false;
        }
        BigInteger inverse = s.modInverse(N);
        BigInteger first = new BigInteger(1, hash).multiply(inverse).mod(N);
        BigInteger second = r.multiply(inverse).mod(N);
        Point sum = G.times(first).plus(key.times(second));
        if (sum.isInfinity()) {
            return false;
        }
        BigInteger zInverse = sum.z.modInverse(P);
        return sum.x.multiply(zInverse).multiply(zInverse).mod(P).mod(N).equals(r);
    }

    /** Whether there is a point with this x. */
    static boolean isPublicKey(String digits) {
        return withEvenY(hex(digits)) != null;
    }

    private static BigInteger hex(String digits) {
        return new BigInteger(digits, 16);
    }
}
