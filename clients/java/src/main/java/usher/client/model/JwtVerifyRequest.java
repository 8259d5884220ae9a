// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A JWT, and the key that must have signed it.
 *
 * @param publicKey The key that must have signed it: 64 hex characters. The service's own key for a JWT of {@code POST
 *     /jwt/issue}, the user's key for a session token from their wallet.
 * @param token The JWT.
 */
public record JwtVerifyRequest(String publicKey, String token) {
    /**
     * Creates it from what is required.
     *
     * @param publicKey The key that must have signed it: 64 hex characters. The service's own key for a JWT of {@code
     *     POST /jwt/issue}, the user's key for a session token from their wallet.
     * @param token The JWT.
     * @return a new {@code JwtVerifyRequest}
     */
    public static JwtVerifyRequest of(String publicKey, String token) {
        return new JwtVerifyRequest(publicKey, token);
    }

    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "JwtVerifyRequest[publicKey=" + publicKey
                + ", token=…"
                + "]";
    }
}
