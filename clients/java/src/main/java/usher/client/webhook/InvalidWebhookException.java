package usher.client.webhook;

import usher.client.UsherException;

/**
 * A post is not from the service, or it is too old. Nothing in it may be believed: respond with 401. Its code is {@link
 * UsherException.Code#AUTH_FAILED}.
 */
public final class InvalidWebhookException extends UsherException {
    private static final long serialVersionUID = 1;

    /** What is wrong. */
    public enum Reason {
        /** A header is missing: the service has no secret, or the post is not the service's. */
        MISSING_HEADER,
        /** No signature is of one of the secrets. */
        SIGNATURE_MISMATCH,
        /** The post is more than five minutes old, or a clock is wrong. */
        TIMESTAMP_OUT_OF_RANGE
    }

    /** What is wrong. */
    private final Reason reason;

    InvalidWebhookException(Reason reason, String message) {
        super(Code.AUTH_FAILED, message);
        this.reason = reason;
    }

    /**
     * What is wrong.
     *
     * @return the reason
     */
    public Reason reason() {
        return reason;
    }
}
