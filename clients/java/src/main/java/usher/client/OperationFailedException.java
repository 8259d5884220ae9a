package usher.client;

import org.jspecify.annotations.Nullable;
import usher.client.model.Event;
import usher.client.model.StatusUpdateData;

/** An operation ended without a result: with {@code timeout} or {@code error}, or it was closed. Its code is {@link UsherException.Code#SERVER_ERROR}. */
public final class OperationFailedException extends UsherException {
    private static final long serialVersionUID = 1;
    private final transient @Nullable Event event;
    /** {@code timeout}, {@code error} or {@code closed}. */
    private final String status;

    OperationFailedException(Event event, StatusUpdateData data) {
        super(Code.SERVER_ERROR, "the operation ended with " + data.status() + (data.reason() == null ? "" : ": " + data.reason()));
        this.event = event;
        this.status = data.status();
    }

    /** It was closed: a handshake whose URL is no longer wanted. */
    OperationFailedException() {
        super(Code.SERVER_ERROR, "the operation was closed");
        this.event = null;
        this.status = "closed";
    }

    /**
     * How it ended.
     *
     * @return {@code timeout}, {@code error} or {@code closed}
     */
    public String status() {
        return status;
    }

    /**
     * Whether it ended because nobody responded in time.
     *
     * @return whether the status is {@code timeout}
     */
    public boolean timedOut() {
        return status.equals("timeout");
    }

    /**
     * The event that ended it, with what it says: for a payment by the service's Lightning backend, {@code outcome} tells
     * whether it is certain that nothing was paid.
     *
     * @return the event; null if it was closed
     */
    public @Nullable Event event() {
        return event;
    }
}
