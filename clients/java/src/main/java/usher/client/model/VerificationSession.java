// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * An age verification session that is open.
 *
 * @param sessionId Its id, for {@code POST /verification/sessions/{session_id}/decision}.
 * @param sessionUrl Redirect the user to this page. Anybody who has the URL can act in the user's place: do not log
 *     it.
 * @param ephemeralNpub The session's own Nostr key (NIP-19), which replies with the result.
 * @param expiresAt Unix seconds until which the session can be decided.
 * @param streamId Where to read the result: {@code GET /events/{stream_id}}.
 */
public record VerificationSession(
        String sessionId,
        String sessionUrl,
        String ephemeralNpub,
        long expiresAt,
        String streamId) {
    /** Leaves out what nobody may read in a log. */
    @Override
    public String toString() {
        return "VerificationSession[sessionId=" + sessionId
                + ", sessionUrl=…"
                + ", ephemeralNpub=" + ephemeralNpub
                + ", expiresAt=" + expiresAt
                + ", streamId=" + streamId
                + "]";
    }
}
