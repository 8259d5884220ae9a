package usher.client.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigInteger;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import usher.client.Vectors;

class VerifyVectorsTest {
    @TestFactory
    Stream<DynamicTest> agreesWithTheServiceAboutJwts() {
        return Vectors.of("jwts.json", vector -> {
            JwtVerifier verifier = JwtVerifier.of(vector.get("public_key").textValue())
                    .withClock(Clock.fixed(Instant.ofEpochSecond(vector.get("now").longValue()), ZoneOffset.UTC));
            if (vector.hasNonNull("valid")) {
                JwtVerifier.Verified verified = verifier.verify(vector.get("token").textValue());
                assertEquals(vector.withObject("valid").get("target_key").textValue(), verified.targetKey());
                assertEquals(vector.withObject("valid").get("expires_at").longValue(), verified.expiresAt());
            } else {
                InvalidJwtException error =
                        assertThrows(InvalidJwtException.class, () -> verifier.verify(vector.get("token").textValue()));
                assertEquals(vector.get("error").textValue(), error.expired() ? "jwt_expired" : "jwt_invalid");
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> agreesWithTheServiceAboutPreimages() {
        return Vectors.of(
                "preimages.json",
                vector -> assertEquals(
                        vector.get("matches").booleanValue(),
                        Preimages.proves(vector.get("preimage").textValue(), vector.get("payment_hash").textValue())));
    }

    @TestFactory
    Stream<DynamicTest> agreesWithProjectWycheproof() {
        HexFormat hex = HexFormat.of();
        return Vectors.of(
                "ecdsa.json",
                vector -> assertEquals(
                        vector.get("valid").booleanValue(),
                        Secp256k1Ecdsa.verify(
                                hex.parseHex(vector.get("public_key").textValue()),
                                hex.parseHex(vector.get("digest").textValue()),
                                hex.parseHex(vector.get("signature").textValue()))));
    }

    @Test
    void refusesWhatIsNoSignatureOrKey() {
        byte[] key = bytes32(new BigInteger("79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798", 16));
        byte[] hash = new byte[32];
        BigInteger one = BigInteger.ONE;
        assertFalse(Secp256k1Ecdsa.verify(key, hash, both(BigInteger.ZERO, one)));
        assertFalse(Secp256k1Ecdsa.verify(key, hash, both(one, BigInteger.ZERO)));
        assertFalse(Secp256k1Ecdsa.verify(key, hash, both(Secp256k1Ecdsa.N, one)));
        assertFalse(Secp256k1Ecdsa.verify(key, hash, new byte[63]));
        byte[] beyond = new byte[32];
        Arrays.fill(beyond, (byte) 0xFF);
        assertFalse(Secp256k1Ecdsa.verify(beyond, hash, both(one, one)));
        // x = 5 is on no point.
        assertFalse(Secp256k1Ecdsa.verify(bytes32(BigInteger.valueOf(5)), hash, both(one, one)));
        assertThrows(IllegalArgumentException.class, () -> JwtVerifier.of("00"));
    }

    private static byte[] both(BigInteger r, BigInteger s) {
        byte[] signature = Arrays.copyOf(bytes32(r), 64);
        System.arraycopy(bytes32(s), 0, signature, 32, 32);
        return signature;
    }

    private static byte[] bytes32(BigInteger number) {
        byte[] bytes = number.toByteArray();
        byte[] fixed = new byte[32];
        int length = Math.min(bytes.length, 32);
        System.arraycopy(bytes, bytes.length - length, fixed, 32 - length, length);
        return fixed;
    }
}
