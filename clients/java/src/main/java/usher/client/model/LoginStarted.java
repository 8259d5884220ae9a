// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A login that has started.
 *
 * @param streamId Where to read the result: {@code GET /events/{stream_id}}.
 * @param url The URL for a wallet, to show as a QR code or link. Anybody who has it can log in in the user's place.
 * @param pageUrl The login page: redirect the user's browser there instead of showing {@code url}. The page belongs to
 *     the first browser that opens it. That of a reusable login gives each browser a page of its own.
 */
public record LoginStarted(String streamId, String url, String pageUrl) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "LoginStarted[streamId=" + streamId
                + ", url=…"
                + ", pageUrl=…"
                + "]";
    }
}
