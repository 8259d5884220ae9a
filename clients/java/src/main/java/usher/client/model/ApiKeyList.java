// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The keys, and the secrets of the configuration.
 *
 * @param keys The keys, the oldest first.
 * @param configured The tokens, which may do everything, and the secrets that sign webhooks.
 */
public record ApiKeyList(List<ApiKey> keys, List<ConfiguredSecret> configured) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param keys The keys, the oldest first.
     * @param configured The tokens, which may do everything, and the secrets that sign webhooks.
     */
    public ApiKeyList {
        keys = List.copyOf(keys);
        configured = List.copyOf(configured);
    }
}
