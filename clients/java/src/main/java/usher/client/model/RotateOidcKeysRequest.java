// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/** Has no fields. */
public record RotateOidcKeysRequest() {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code RotateOidcKeysRequest}
     */
    public static RotateOidcKeysRequest of() {
        return new RotateOidcKeysRequest();
    }
}
