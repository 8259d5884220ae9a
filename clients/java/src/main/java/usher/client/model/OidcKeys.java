// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The keys that sign ID tokens.
 *
 * @param keys The keys, the newest first.
 */
public record OidcKeys(List<OidcKey> keys) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param keys The keys, the newest first.
     */
    public OidcKeys {
        keys = List.copyOf(keys);
    }
}
