package usher.client.verify;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Clock;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException;
import usher.client.internal.Json;

/**
 * Verifies JWTs of {@code POST /jwt/issue}, or of a user's wallet, without asking the service: ES256K (RFC 8812) with a
 * Nostr key, exactly as {@code POST /jwt/verify} does.
 */
public final class JwtVerifier {
    /** For clocks that differ; only for {@code nbf}. */
    private static final long LEEWAY_SECONDS = 30;

    private static final int LONGEST = 8 * 1024;
    /** What every JSON library reads exactly. */
    private static final double LATEST = (1L << 53) - 1;

    private final byte[] publicKey;
    private final Clock clock;

    private JwtVerifier(byte[] publicKey, Clock clock) {
        this.publicKey = publicKey;
        this.clock = clock;
    }

    /**
     * Creates a verifier.
     *
     * @param publicKey the key that must have signed, 64 hex characters: the service's, or for a session token the user's
     * @return the verifier
     * @throws IllegalArgumentException it is not 64 hex characters
     */
    public static JwtVerifier of(String publicKey) {
        if (!publicKey.matches("[0-9a-fA-F]{64}")) {
            throw new IllegalArgumentException("a public key has 64 hex characters");
        }
        return new JwtVerifier(HexFormat.of().parseHex(publicKey), Clock.systemUTC());
    }

    /**
     * Returns a copy with another clock, for tests.
     *
     * @param clock tells whether a token has expired
     * @return the copy
     */
    public JwtVerifier withClock(Clock clock) {
        return new JwtVerifier(publicKey, clock);
    }

    /**
     * A valid JWT.
     *
     * @param targetKey the key that it is about, in hex
     * @param expiresAt until when it is valid, in Unix seconds
     * @param issuedAt when it was issued, in Unix seconds
     * @param notBefore from when on it is valid, in Unix seconds
     */
    public record Verified(String targetKey, long expiresAt, @Nullable Long issuedAt, @Nullable Long notBefore) {}

    /**
     * Verifies a token.
     *
     * @param token the JWT
     * @return what it says
     * @throws InvalidJwtException it is not signed by the key, has expired, is not valid yet, or is no JWT
     */
    public Verified verify(String token) {
        if (token.length() > LONGEST) {
            throw invalid("it is longer than " + LONGEST + " characters");
        }
        String[] parts = token.split("\\.", -1);
        if (parts.length != 3) {
            throw invalid("a JWT has three parts");
        }
        Map<String, @Nullable Object> head = members(parts[0]);
        // Whatever `crit` is: an empty one and null are no valid list of extensions.
        if (!"ES256K".equals(head.get("alg")) || head.containsKey("crit")) {
            throw invalid("its algorithm must be ES256K, without critical extensions");
        }
        byte[] hash = sha256((parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
        if (!Secp256k1Ecdsa.verify(publicKey, hash, decode(parts[2]))) {
            throw invalid("it is not signed by the key");
        }
        return claims(members(parts[1]));
    }

    private Verified claims(Map<String, @Nullable Object> claims) {
        Long expiresAt = time(claims, "exp");
        if (expiresAt == null) {
            throw invalid("it has no exp");
        }
        if (!(claims.get("target_key") instanceof String targetKey)
                || !targetKey.matches("[0-9a-fA-F]{64}")
                || !Secp256k1Ecdsa.isPublicKey(targetKey)) {
            throw invalid("its target_key is no key");
        }
        // Either case is accepted, and answered in lower case.
        Verified verified = new Verified(
                targetKey.toLowerCase(Locale.ROOT), expiresAt, time(claims, "iat"), time(claims, "nbf"));
        long now = clock.instant().getEpochSecond();
        if (verified.expiresAt() <= now) {
            throw new InvalidJwtException("it has expired", true);
        }
        Long notBefore = verified.notBefore();
        if (notBefore != null && notBefore > now + LEEWAY_SECONDS) {
            throw invalid("it is not valid yet");
        }
        return verified;
    }

    /** Unix seconds: a number, which may have a fraction (RFC 7519, NumericDate), rounded down. */
    private static @Nullable Long time(Map<String, @Nullable Object> claims, String name) {
        if (!claims.containsKey(name)) {
            return null;
        }
        if (!(claims.get(name) instanceof Number number) || Math.abs(Math.floor(number.doubleValue())) > LATEST) {
            throw invalid("its " + name + " is no time");
        }
        return (long) Math.floor(number.doubleValue());
    }

    private static Map<String, @Nullable Object> members(String part) {
        try {
            return Json.jwtPart(decode(part));
        } catch (InvalidJwtException error) {
            throw error;
        } catch (UsherException error) {
            throw invalid("its parts are not JSON");
        }
    }

    private static byte[] decode(String part) {
        // Without padding (RFC 7515, section 2).
        if (!part.matches("[A-Za-z0-9_-]*")) {
            throw invalid("its parts are not base64url");
        }
        try {
            byte[] bytes = Base64.getUrlDecoder().decode(part);
            // Unused bits at the end must be zero: a token has one text.
            if (!Base64.getUrlEncoder().withoutPadding().encodeToString(bytes).equals(part)) {
                throw invalid("its parts are not base64url");
            }
            return bytes;
        } catch (IllegalArgumentException error) {
            throw invalid("its parts are not base64url");
        }
    }

    private static byte[] sha256(byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (NoSuchAlgorithmException error) {
            // Every Java platform has it.
            throw new IllegalStateException(error);
        }
    }

    private static InvalidJwtException invalid(String why) {
        return new InvalidJwtException("invalid JWT: " + why, false);
    }
}
