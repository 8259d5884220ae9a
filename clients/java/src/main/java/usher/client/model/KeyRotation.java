// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Rotates the secret of a key.
 *
 * @param overlapSeconds How long the secret that the key has now is accepted beside the new one, in seconds; by
 *     default not at all.
 */
public record KeyRotation(@Nullable Long overlapSeconds) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code KeyRotation}
     */
    public static KeyRotation of() {
        return new KeyRotation(null);
    }

    /**
     * Returns a copy with another {@code overlapSeconds}.
     *
     * @param overlapSeconds How long the secret that the key has now is accepted beside the new one, in seconds; by
     *     default not at all.
     * @return the copy
     */
    public KeyRotation withOverlapSeconds(@Nullable Long overlapSeconds) {
        return new KeyRotation(overlapSeconds);
    }
}
