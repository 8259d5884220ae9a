package usher.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import usher.client.model.Problem;

/** Every error of this client. Its {@link #code} says what kind it is; {@link #problem} is what the service said. */
public class UsherException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** What kind of error it is. */
    public enum Code {
        /** The service cannot be reached, or the client was closed. */
        NOT_CONNECTED,
        /** No response came in time. The request may have taken effect: repeat it with the same idempotency key. */
        CONNECTION_TIMEOUT,
        /** The time that the app gave {@link Operation#result} with {@code orTimeout} has passed. The operation goes on. */
        RESULT_TIMEOUT,
        /** The connection broke and could not be made again, or the call was cancelled. */
        CONNECTION_CLOSED,
        /** The service does not accept the token; or a webhook or a JWT is not valid. */
        AUTH_FAILED,
        /** The response is not one of the service's: something else answers at its address. */
        UNEXPECTED_RESPONSE,
        /** The service refuses the request, or the operation failed. */
        SERVER_ERROR,
        /** The response is not the JSON that it should be. */
        PARSE_ERROR
    }

    /** What kind of error it is. */
    private final Code code;
    private final transient @Nullable Problem problem;
    /** After what time to ask again. */
    private final @Nullable Duration retryAfter;

    /**
     * Creates an error without a problem document.
     *
     * @param code what kind of error it is
     * @param message what happened, for people
     */
    public UsherException(Code code, String message) {
        this(code, message, null, null, null);
    }

    UsherException(
            Code code,
            String message,
            @Nullable Problem problem,
            @Nullable Duration retryAfter,
            @Nullable Throwable cause) {
        super(message, cause);
        this.code = code;
        this.problem = problem;
        this.retryAfter = retryAfter;
    }

    /**
     * What kind of error it is.
     *
     * @return the kind
     */
    public Code code() {
        return code;
    }

    /**
     * What the service said: its {@code code} tells one refusal from another.
     *
     * @return the problem document, or null if the service did not send one
     */
    public @Nullable Problem problem() {
        return problem;
    }

    /**
     * After what time the service wants to be asked again.
     *
     * @return the time, or null if it did not say
     */
    public @Nullable Duration retryAfter() {
        return retryAfter;
    }

    /** Whether the problem has this code. */
    boolean isProblem(String wanted) {
        return problem != null && problem.code().equals(wanted);
    }
}
