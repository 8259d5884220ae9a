// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * A channel to open.
 *
 * @param amount Its capacity in millisats, a multiple of 1,000. All of it is on the service's side at first.
 * @param peer With whom: {@code <node id>@<host>:<port>}. The default is {@code wallet.embedded.liquidity_provider}.
 */
public record OpenChannelRequest(long amount, @Nullable String peer) {
    /**
     * Creates it from what is required.
     *
     * @param amount Its capacity in millisats, a multiple of 1,000. All of it is on the service's side at first.
     * @return a new {@code OpenChannelRequest}
     */
    public static OpenChannelRequest of(long amount) {
        return new OpenChannelRequest(amount, null);
    }

    /**
     * Returns a copy with another {@code peer}.
     *
     * @param peer With whom: {@code <node id>@<host>:<port>}. The default is {@code
     *     wallet.embedded.liquidity_provider}.
     * @return the copy
     */
    public OpenChannelRequest withPeer(@Nullable String peer) {
        return new OpenChannelRequest(amount, peer);
    }
}
