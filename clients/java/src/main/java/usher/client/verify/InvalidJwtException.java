package usher.client.verify;

import usher.client.UsherException;

/** A JWT is not valid: do not believe it. Its code is {@link UsherException.Code#AUTH_FAILED}. */
public final class InvalidJwtException extends UsherException {
    private static final long serialVersionUID = 1;
    /** Whether only its time is over. */
    private final boolean expired;

    InvalidJwtException(String message, boolean expired) {
        super(Code.AUTH_FAILED, message);
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
