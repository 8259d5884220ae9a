// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * Names a relay.
 *
 * @param relay Its address: {@code wss://…}, or {@code ws://…} in a network of your own.
 */
public record RelayRequest(String relay) {
    /**
     * Creates it from what is required.
     *
     * @param relay Its address: {@code wss://…}, or {@code ws://…} in a network of your own.
     * @return a new {@code RelayRequest}
     */
    public static RelayRequest of(String relay) {
        return new RelayRequest(relay);
    }
}
