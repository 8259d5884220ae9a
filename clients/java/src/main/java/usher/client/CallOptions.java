package usher.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How to make a call. {@link #DEFAULT} is right for most.
 *
 * @param timeout within what time, with all retries, it must be over; null for that of the client
 * @param idempotencyKey names the intention, so that it is carried out once, however often it is sent: 1 to 255 visible
 *     ASCII characters. Null for a random one. Give your own, for example an order number, to also repeat a request
 *     after a crash of your app
 * @param requestId is in the log of the service: 1 to 128 letters, digits and {@code -_.:/+=@~}; null for a random one
 */
public record CallOptions(@Nullable Duration timeout, @Nullable String idempotencyKey, @Nullable String requestId) {
    /** The client's timeout, and random ids. */
    public static final CallOptions DEFAULT = new CallOptions(null, null, null);

    /**
     * Checks the values.
     *
     * @param timeout within what time, with all retries, it must be over; null for that of the client
     * @param idempotencyKey names the intention, so that it is carried out once, however often it is sent: 1 to 255
     *     visible ASCII characters. Null for a random one. Give your own, for example an order number, to also
     *     repeat a request after a crash of your app
     * @param requestId is in the log of the service: 1 to 128 letters, digits and {@code -_.:/+=@~}; null for a
     *     random one
     */
    public CallOptions {
        if (timeout != null && (timeout.isNegative() || timeout.isZero())) {
            throw new IllegalArgumentException("the timeout must be longer than nothing");
        }
        if (idempotencyKey != null && !idempotencyKey.matches("[!-~]{1,255}")) {
            throw new IllegalArgumentException("an idempotency key has 1 to 255 visible ASCII characters");
        }
        if (requestId != null && !requestId.matches("[A-Za-z0-9_.:/+=@~-]{1,128}")) {
            throw new IllegalArgumentException("a request id has 1 to 128 letters, digits and -_.:/+=@~");
        }
    }

    /**
     * Returns a copy with this timeout.
     *
     * @param timeout within what time, with all retries, the call must be over
     * @return the copy
     */
    public CallOptions withTimeout(Duration timeout) {
        return new CallOptions(timeout, idempotencyKey, requestId);
    }

    /**
     * Returns a copy with this idempotency key.
     *
     * @param idempotencyKey names the intention
     * @return the copy
     */
    public CallOptions withIdempotencyKey(String idempotencyKey) {
        return new CallOptions(timeout, idempotencyKey, requestId);
    }

    /**
     * Returns a copy with this request id.
     *
     * @param requestId is in the log of the service
     * @return the copy
     */
    public CallOptions withRequestId(String requestId) {
        return new CallOptions(timeout, idempotencyKey, requestId);
    }
}
