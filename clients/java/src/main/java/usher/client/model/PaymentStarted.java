// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A payment that has started.
 *
 * @param streamId Where to read its events: {@code GET /events/{stream_id}}.
 * @param pageUrl A page for the user's browser, on which the invoice can be paid with any Lightning wallet. Anybody
 *     who has it can pay.
 */
public record PaymentStarted(String streamId, String pageUrl) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "PaymentStarted[streamId=" + streamId
                + ", pageUrl=…"
                + "]";
    }
}
