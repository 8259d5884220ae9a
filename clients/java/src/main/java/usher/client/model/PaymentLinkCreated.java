// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A payment link.
 *
 * @param streamId Where to read its events: {@code GET /events/{stream_id}}.
 * @param pageUrl A page at which anybody who has its address can pay, as often as they like.
 * @param lnurl The same for wallets (LNURL-pay), for a QR code: in upper case the code is smaller.
 */
public record PaymentLinkCreated(String streamId, String pageUrl, String lnurl) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "PaymentLinkCreated[streamId=" + streamId
                + ", pageUrl=…"
                + ", lnurl=" + lnurl
                + "]";
    }
}
