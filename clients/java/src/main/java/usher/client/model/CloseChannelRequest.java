// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * How to close a channel.
 *
 * @param force Without the peer's agreement. The money is locked for days, and the fees are higher: only for a peer
 *     that does not come back.
 */
public record CloseChannelRequest(@Nullable Boolean force) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code CloseChannelRequest}
     */
    public static CloseChannelRequest of() {
        return new CloseChannelRequest(null);
    }

    /**
     * Returns a copy with another {@code force}.
     *
     * @param force Without the peer's agreement. The money is locked for days, and the fees are higher: only for a
     *     peer that does not come back.
     * @return the copy
     */
    public CloseChannelRequest withForce(@Nullable Boolean force) {
        return new CloseChannelRequest(force);
    }
}
