package usher.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException.Code;
import usher.client.internal.Json;
import usher.client.internal.Request;

/** Sends requests: with the token, an idempotency key for each POST, a timeout, and retries where they are safe. */
final class Transport {
    /** The service responds within 30 s, or 60 s for a long poll. A silent connection is given up a little later. */
    private static final Duration ATTEMPT = Duration.ofSeconds(35);

    private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

    final HttpClient client;
    final URI base;
    final String authorization;
    final ScheduledExecutorService loop;
    final Executor executor;
    private final Duration timeout;
    private final int retries;
    private final AsyncSemaphore requests;
    private final Set<Call<?>> running = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;
    private volatile @Nullable Runnable firstSuccess;

    Transport(HttpClient client, UsherBuilder options, ScheduledExecutorService loop, Executor executor) {
        this.client = client;
        this.base = options.base;
        this.authorization = "Bearer " + options.token;
        this.timeout = options.timeout;
        this.retries = options.retries;
        this.loop = loop;
        this.executor = executor;
        this.requests = new AsyncSemaphore(options.connections, executor);
    }

    /** Runs this once, after the first response that succeeds. */
    void afterFirstSuccess(Runnable task) {
        firstSuccess = task;
    }

    <T> Call<T> call(Request request, CallOptions options, Class<T> type) {
        return call(request, options, json -> Json.read(json, type));
    }

    Call<Map<String, Object>> members(Request request, CallOptions options) {
        return call(request, options, Json::members);
    }

    <T> Call<T> call(Request request, CallOptions options, Function<ObjectNode, T> decode) {
        String what = "the response to " + request.method() + " " + request.path().split("\\?", 2)[0];
        return start(requests, request, options, ATTEMPT, true, bytes -> decode.apply(Json.object(bytes, what)));
    }

    Call<String> text(Request request, CallOptions options) {
        return start(requests, request, options, ATTEMPT, false, bytes -> new String(bytes, StandardCharsets.UTF_8));
    }

    /** A request that the service keeps open. */
    <T> Call<T> longPoll(AsyncSemaphore semaphore, Request request, Duration wait, Function<ObjectNode, T> decode) {
        CallOptions options = CallOptions.DEFAULT.withTimeout(ATTEMPT.plus(wait).plus(ATTEMPT));
        return start(
                semaphore,
                request,
                options,
                ATTEMPT.plus(wait),
                true,
                bytes -> decode.apply(Json.object(bytes, "the page of events")));
    }

    URI uri(String path) {
        return URI.create(base + path);
    }

    /** Ends all calls. */
    void close() {
        closed = true;
        for (Call<?> call : running) {
            call.completeExceptionally(closedError());
        }
    }

    static UsherException closedError() {
        return new UsherException(Code.NOT_CONNECTED, "the client was closed");
    }

    private <T> Call<T> start(
            AsyncSemaphore semaphore,
            Request request,
            CallOptions options,
            Duration attempt,
            boolean json,
            Function<byte[], T> decode) {
        Exchange<T> exchange = new Exchange<>(semaphore, request, options, attempt, json, decode);
        if (closed) {
            exchange.call.completeExceptionally(closedError());
        } else {
            exchange.begin();
        }
        return exchange.call;
    }

    /** One call and its attempts. */
    private final class Exchange<T> {
        private final Call<T> call = new Call<>(executor);
        private final AsyncSemaphore semaphore;
        private final Request request;
        private final CallOptions options;
        private final Duration attemptTimeout;
        private final boolean json;
        private final Function<byte[], T> decode;
        private final @Nullable String key;
        private final long deadline;
        private final Duration limit;
        private int attempts;
        private volatile @Nullable UsherException last;
        private volatile @Nullable CompletableFuture<?> current;

        Exchange(
                AsyncSemaphore semaphore,
                Request request,
                CallOptions options,
                Duration attemptTimeout,
                boolean json,
                Function<byte[], T> decode) {
            this.semaphore = semaphore;
            this.request = request;
            this.options = options;
            this.attemptTimeout = attemptTimeout;
            this.json = json;
            this.decode = decode;
            this.limit = options.timeout() == null ? timeout : options.timeout();
            this.deadline = System.nanoTime() + limit.toNanos();
            // Made once: the attempts are one intention.
            String given = options.idempotencyKey();
            this.key = request.method().equals("POST") ? (given == null ? UUID.randomUUID().toString() : given) : null;
        }

        void begin() {
            ScheduledFuture<?> timer = loop.schedule(this::timeOut, limit.toNanos(), TimeUnit.NANOSECONDS);
            running.add(call);
            call.whenComplete((value, error) -> {
                running.remove(call);
                timer.cancel(false);
                CompletableFuture<?> exchange = current;
                if (exchange != null) {
                    exchange.cancel(true);
                }
            });
            semaphore.acquire(this::send);
        }

        private void timeOut() {
            UsherException before = last;
            call.completeExceptionally(
                    before != null
                            ? before
                            : new UsherException(Code.CONNECTION_TIMEOUT, "no response within " + limit.toMillis() + " ms"));
        }

        private void send() {
            if (call.isDone()) {
                semaphore.release();
                return;
            }
            attempts++;
            CompletableFuture<HttpResponse<byte[]>> sent;
            try {
                sent = client.sendAsync(build(), info -> new LimitedBody());
            } catch (RuntimeException error) {
                sent = CompletableFuture.failedFuture(error);
            }
            current = sent;
            sent.whenComplete((response, error) -> {
                semaphore.release();
                try {
                    received(response, error);
                } catch (RuntimeException unexpected) {
                    call.completeExceptionally(Call.failure(unexpected));
                }
            });
            if (call.isDone()) {
                sent.cancel(true);
            }
        }

        private HttpRequest build() {
            long left = Math.max(1, deadline - System.nanoTime());
            HttpRequest.Builder builder = HttpRequest.newBuilder(uri(request.path()))
                    // What the service speaks; a client of the app's may prefer another version.
                    .version(HttpClient.Version.HTTP_1_1)
                    .timeout(Duration.ofNanos(Math.min(left, attemptTimeout.toNanos())))
                    .header("Authorization", authorization);
            if (key != null) {
                builder.header("Idempotency-Key", key);
            }
            if (options.requestId() != null) {
                builder.header("X-Request-Id", options.requestId());
            }
            byte[] body = request.body();
            if (body == null) {
                return builder.method(request.method(), HttpRequest.BodyPublishers.noBody()).build();
            }
            return builder.header("Content-Type", "application/json")
                    .method(request.method(), HttpRequest.BodyPublishers.ofByteArray(body))
                    .build();
        }

        private void received(@Nullable HttpResponse<byte[]> response, @Nullable Throwable error) {
            if (call.isDone() || error instanceof CancellationException) {
                return;
            }
            if (response == null) {
                UsherException failure = Failures.ofConnection(error == null ? new IllegalStateException() : error);
                // A body that is too large, or no HTTP at all, will not be better the next time.
                fail(failure, failure.code() != Code.UNEXPECTED_RESPONSE);
                return;
            }
            if (response.statusCode() / 100 == 2) {
                String ignored = response.headers().firstValue("Usher-Ignored").orElse(null);
                boolean development = response.headers().firstValue("Usher-Mode").orElse("").equals("test");
                if (json && !Failures.isJson(response.headers())) {
                    fail(Failures.notTheService(response.statusCode(), request, null), false);
                } else if (ignored != null && development) {
                    fail(Failures.ofIgnored(ignored, request), false);
                } else {
                    succeed(response.body());
                }
                return;
            }
            UsherException failure = Failures.ofResponse(response.statusCode(), response.headers(), response.body(), request);
            fail(failure, Failures.isTemporary(response.statusCode(), failure) && !request.reportsByStatus());
        }

        private void succeed(byte[] body) {
            T value;
            try {
                value = decode.apply(body);
            } catch (RuntimeException error) {
                call.completeExceptionally(Call.failure(error));
                return;
            }
            call.complete(value);
            Runnable task = firstSuccess;
            if (task != null) {
                firstSuccess = null;
                task.run();
            }
        }

        private void fail(UsherException failure, boolean temporary) {
            last = failure;
            Duration pause = failure.retryAfter() == null ? pause(attempts) : failure.retryAfter();
            boolean inTime = System.nanoTime() + pause.toNanos() - deadline < 0;
            if (!temporary || attempts > retries || !inTime || closed) {
                call.completeExceptionally(failure);
                return;
            }
            loop.schedule(() -> semaphore.acquire(this::send), pause.toNanos(), TimeUnit.NANOSECONDS);
        }
    }

    /** Grows from attempt to attempt, and differs from client to client. */
    static Duration pause(int attempt) {
        long most = Math.min(LONGEST_PAUSE.toMillis(), FIRST_PAUSE.toMillis() << Math.min(attempt - 1, 10));
        return Duration.ofMillis(ThreadLocalRandom.current().nextLong(most / 2, most + 1));
    }
}
