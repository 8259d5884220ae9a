// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/** Has no fields. */
public record CreateAddressRequest() {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code CreateAddressRequest}
     */
    public static CreateAddressRequest of() {
        return new CreateAddressRequest();
    }
}
