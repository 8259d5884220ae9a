// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The keys, and the tokens.
 *
 * @param keys The keys, the oldest first.
 * @param tokens The tokens of the configuration, which may do everything.
 */
public record ApiKeyList(List<ApiKey> keys, List<ConfiguredToken> tokens) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param keys The keys, the oldest first.
     * @param tokens The tokens of the configuration, which may do everything.
     */
    public ApiKeyList {
        keys = List.copyOf(keys);
        tokens = List.copyOf(tokens);
    }
}
