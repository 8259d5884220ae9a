// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/** Opens an age verification session. It has no fields. */
public record VerificationSessionRequest() {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code VerificationSessionRequest}
     */
    public static VerificationSessionRequest of() {
        return new VerificationSessionRequest();
    }
}
