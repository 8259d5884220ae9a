package usher.client;

import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpHeaders;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException.Code;
import usher.client.internal.Json;
import usher.client.internal.Request;
import usher.client.model.Problem;

/** What went wrong, as this client's errors. */
final class Failures {
    /** Refusals that pass by themselves: repeated with the same idempotency key. */
    private static final Set<String> TEMPORARY = Set.of(
            "body_timeout",
            "rate_limited",
            "overloaded",
            "storage_unavailable",
            "no_relay_connected",
            "no_active_instance",
            "deadline_exceeded",
            "rate_unavailable",
            "mint_timeout");

    private Failures() {}

    /** Of a connection that could not be made, or broke. */
    static UsherException ofConnection(Throwable error) {
        Throwable cause = error;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof UsherException own) {
            return own;
        }
        Code code = Code.CONNECTION_CLOSED;
        String message = "the connection broke";
        for (Throwable inner = cause; inner != null; inner = inner.getCause()) {
            if (inner instanceof ConnectException
                    || inner instanceof UnresolvedAddressException
                    || inner instanceof UnknownHostException
                    || inner instanceof HttpConnectTimeoutException
                    || inner instanceof SSLException) {
                code = Code.NOT_CONNECTED;
                message = "the service cannot be reached";
                break;
            }
            if (inner instanceof HttpTimeoutException) {
                code = Code.CONNECTION_TIMEOUT;
                message = "no response in time";
                break;
            }
            if (inner instanceof RejectedExecutionException) {
                return Transport.closedError();
            }
            if (inner instanceof ProtocolException || !(inner instanceof IOException)) {
                code = Code.UNEXPECTED_RESPONSE;
                message = "the response is not HTTP";
                break;
            }
        }
        return new UsherException(code, message + ": " + cause, null, null, cause);
    }

    /** Of a response whose status is not 2xx. */
    static UsherException ofResponse(int status, HttpHeaders headers, byte[] body, Request request) {
        String type = headers.firstValue("Content-Type").orElse("").toLowerCase(Locale.ROOT);
        if (type.startsWith("application/problem+json")) {
            return ofProblem(Json.read(Json.object(body, "the problem"), Problem.class), retryAfter(headers));
        }
        if (status == 401) {
            return new UsherException(Code.AUTH_FAILED, "the token is not accepted");
        }
        return notTheService(status, request, retryAfter(headers));
    }

    /** Of a request with fields that the service does not know. */
    static UsherException ofIgnored(String fields, Request request) {
        String message = request.method() + " " + request.path().split("\\?", 2)[0] + ": the service knows no " + fields
                + ", and ignored it (only `usher dev` makes this an error)";
        return new UsherException(Code.SERVER_ERROR, message);
    }

    static boolean isJson(HttpHeaders headers) {
        return headers.firstValue("Content-Type").orElse("").toLowerCase(Locale.ROOT).startsWith("application/json");
    }

    /** A response that the service does not give. */
    static UsherException notTheService(int status, Request request, @Nullable Duration retryAfter) {
        String message = "status " + status + " without the service's JSON, to " + request.method() + " "
                + request.path().split("\\?", 2)[0];
        return new UsherException(Code.UNEXPECTED_RESPONSE, message, null, retryAfter, null);
    }

    static UsherException ofProblem(Problem problem, @Nullable Duration retryAfter) {
        Code code = problem.status() == 401 ? Code.AUTH_FAILED : Code.SERVER_ERROR;
        StringBuilder message = new StringBuilder(problem.code()).append(": ").append(problem.detail());
        problem.errors().forEach(error -> message.append("; ").append(error.pointer()).append(' ').append(error.detail()));
        if (!problem.requestId().isEmpty()) {
            message.append(" (request ").append(problem.requestId()).append(')');
        }
        return new UsherException(code, message.toString(), problem, retryAfter, null);
    }

    /** Whether the same request may succeed soon. */
    static boolean isTemporary(int status, UsherException failure) {
        Problem problem = failure.problem();
        if (problem != null) {
            return TEMPORARY.contains(problem.code());
        }
        // A proxy in front of the service, while it restarts.
        return status == 429 || status == 502 || status == 503 || status == 504;
    }

    private static @Nullable Duration retryAfter(HttpHeaders headers) {
        String value = headers.firstValue("Retry-After").orElse("");
        return value.matches("[0-9]{1,9}") ? Duration.ofSeconds(Long.parseLong(value)) : null;
    }
}
