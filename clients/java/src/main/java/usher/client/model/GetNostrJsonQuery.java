// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /.well-known/nostr.json}.
 *
 * @param name Return only this name.
 */
public record GetNostrJsonQuery(@Nullable String name) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code GetNostrJsonQuery}
     */
    public static GetNostrJsonQuery of() {
        return new GetNostrJsonQuery(null);
    }

    /**
     * Returns a copy with another {@code name}.
     *
     * @param name Return only this name.
     * @return the copy
     */
    public GetNostrJsonQuery withName(@Nullable String name) {
        return new GetNostrJsonQuery(name);
    }
}
