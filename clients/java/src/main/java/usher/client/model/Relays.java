// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * All relays to which the service is or wants to be connected.
 *
 * @param relays The service's own relays in the order of handshake URLs, then those of users.
 */
public record Relays(List<Relay> relays) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param relays The service's own relays in the order of handshake URLs, then those of users.
     */
    public Relays {
        relays = List.copyOf(relays);
    }
}
