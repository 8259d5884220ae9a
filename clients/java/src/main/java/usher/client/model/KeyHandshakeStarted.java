// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A handshake that has started.
 *
 * @param streamId Where to read who completed it: {@code GET /events/{stream_id}}.
 * @param url The URL to show to the user as a QR code or link. Anybody who has it can respond in the user's place.
 * @param pageUrl A page for the user's browser that shows the URL as a QR code and link.
 */
public record KeyHandshakeStarted(String streamId, String url, String pageUrl) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "KeyHandshakeStarted[streamId=" + streamId
                + ", url=…"
                + ", pageUrl=…"
                + "]";
    }
}
