// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import java.util.Map;

/**
 * Names and keys (NIP-05): the service itself, and nobody else.
 *
 * @param names Name to key.
 * @param relays Key to relays.
 */
public record WellKnown(Map<String, String> names, Map<String, List<String>> relays) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param names Name to key.
     * @param relays Key to relays.
     */
    public WellKnown {
        names = Map.copyOf(names);
        relays = Map.copyOf(relays);
    }
}
