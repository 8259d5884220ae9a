package usher.client.webhook;

/** A post is not from the service, or it is too old. Nothing in it may be believed: respond with 401. */
public final class InvalidWebhookException extends RuntimeException {
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
        super(message);
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
