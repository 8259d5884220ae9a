// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * The key and the validity of a JWT.
 *
 * @param targetKey The key that the JWT is about: 64 hex characters.
 * @param durationHours For how many hours it is valid.
 */
public record JwtIssueRequest(String targetKey, long durationHours) {
    /**
     * Creates it from what is required.
     *
     * @param targetKey The key that the JWT is about: 64 hex characters.
     * @param durationHours For how many hours it is valid.
     * @return a new {@code JwtIssueRequest}
     */
    public static JwtIssueRequest of(String targetKey, long durationHours) {
        return new JwtIssueRequest(targetKey, durationHours);
    }
}
