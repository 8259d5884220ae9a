// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A reusable handshake or login.
 *
 * @param streamId Where to read who completed it: {@code GET /events/{stream_id}}.
 * @param staticToken The token it was opened with.
 * @param url The URL that users scan. It names the service's current relays.
 * @param noRequest Whether it tells wallets that no authentication challenge follows.
 * @param login Whether it is a login ({@code POST /login}): users who scan it are challenged.
 * @param createdAt When it was opened, in Unix seconds.
 * @param accepted How many scans of {@code url} were accepted. Of a handshake, these are the events of its stream.
 * @param refused How many scans, and logins begun on a reusable login's page, its limits refused since the service
 *     started.
 */
public record ReusableHandshake(
        String streamId,
        String staticToken,
        String url,
        boolean noRequest,
        boolean login,
        long createdAt,
        long accepted,
        long refused) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "ReusableHandshake[streamId=" + streamId
                + ", staticToken=…"
                + ", url=…"
                + ", noRequest=" + noRequest
                + ", login=" + login
                + ", createdAt=" + createdAt
                + ", accepted=" + accepted
                + ", refused=" + refused
                + "]";
    }
}
