// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * Asks a user to prove that they hold a key.
 *
 * @param mainKey The key to prove: 64 hex characters, from the {@code KeyHandshake} event.
 * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8. A repeated key
 *     counts once.
 */
public record AuthenticateKeyRequest(String mainKey, List<String> subkeys) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param mainKey The key to prove: 64 hex characters, from the {@code KeyHandshake} event.
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8. A repeated
     *     key counts once.
     */
    public AuthenticateKeyRequest {
        subkeys = List.copyOf(subkeys);
    }

    /**
     * Creates it from what is required.
     *
     * @param mainKey The key to prove: 64 hex characters, from the {@code KeyHandshake} event.
     * @return a new {@code AuthenticateKeyRequest}
     */
    public static AuthenticateKeyRequest of(String mainKey) {
        return new AuthenticateKeyRequest(mainKey, List.of());
    }

    /**
     * Returns a copy with another {@code subkeys}.
     *
     * @param subkeys Keys that may respond for it without a proof of delegation; usually none, at most 8. A repeated
     *     key counts once.
     * @return the copy
     */
    public AuthenticateKeyRequest withSubkeys(List<String> subkeys) {
        return new AuthenticateKeyRequest(mainKey, subkeys);
    }
}
