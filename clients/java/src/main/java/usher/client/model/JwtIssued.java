// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A JWT.
 *
 * @param token The JWT. Anybody who has it can use it.
 */
public record JwtIssued(String token) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "JwtIssued[token=…"
                + "]";
    }
}
