package usher.client.verify;

/** A JWT is not valid: do not believe it. */
public final class InvalidJwtException extends RuntimeException {
    private static final long serialVersionUID = 1;
    /** Whether only its time is over. */
    private final boolean expired;

    InvalidJwtException(String message, boolean expired) {
        super(message);
        this.expired = expired;
    }

    /**
     * Whether only its time is over: it is signed by the key.
     *
     * @return whether it has expired
     */
    public boolean expired() {
        return expired;
    }
}
