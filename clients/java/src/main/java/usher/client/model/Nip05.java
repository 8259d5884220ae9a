// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The key of a NIP-05 identifier.
 *
 * @param pubkey The key.
 * @param relays The user's relays according to the domain.
 */
public record Nip05(String pubkey, List<String> relays) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param pubkey The key.
     * @param relays The user's relays according to the domain.
     */
    public Nip05 {
        relays = List.copyOf(relays);
    }
}
