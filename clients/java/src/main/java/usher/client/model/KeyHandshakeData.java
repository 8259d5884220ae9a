// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * Data of {@code KeyHandshake}: a user has told their key. It is not proven yet.
 *
 * @param mainKey The user's key.
 * @param preferredRelays The relays at which the user wants to be reached, at most 8.
 */
public record KeyHandshakeData(String mainKey, List<String> preferredRelays) implements EventData {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey The user's key.
     * @param preferredRelays The relays at which the user wants to be reached, at most 8.
     */
    public KeyHandshakeData {
        preferredRelays = List.copyOf(preferredRelays);
    }
}
