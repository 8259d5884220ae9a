package usher.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException.Code;
import usher.client.internal.Json;

/** One connection to {@code /ws}. Everything but the callbacks of the library runs on the loop. */
final class EventSocket implements WebSocket.Listener {
    /** As many streams as the service lets one connection watch. */
    static final int STREAMS = 1000;

    private static final Duration HANDSHAKE = Duration.ofSeconds(15);
    /** The service pings every 30 s. */
    private static final Duration SILENCE = Duration.ofSeconds(75);

    private static final Duration PING = Duration.ofSeconds(25);
    /** The service sends no message near it. */
    static final int LONGEST_MESSAGE = 4 * 1024 * 1024;

    /** Gets what happens to a connection. */
    interface Owner {
        void opened(EventSocket socket);

        void message(EventSocket socket, ObjectNode message);

        void closed(EventSocket socket, Closed why);
    }

    /**
     * Why a connection is over.
     *
     * @param error as an error
     * @param unsupported whether there is no WebSocket at that address
     */
    record Closed(UsherException error, boolean unsupported) {}

    /** The streams that it watches. */
    final Set<EventHub.Stream> streams = new LinkedHashSet<>();
    /** Subscriptions without a response yet, by the id of the message. */
    final Map<String, EventHub.Stream> pending = new HashMap<>();

    private final Transport transport;
    private final Owner owner;
    private final Queue<String> outgoing = new ArrayDeque<>();
    private final StringBuilder incoming = new StringBuilder();
    private @Nullable WebSocket socket;
    private @Nullable ScheduledFuture<?> heartbeat;
    private boolean sending;
    private boolean over;
    private int sent;
    private long openSince;
    private volatile long heard = System.nanoTime();

    EventSocket(Transport transport, Owner owner) {
        this.transport = transport;
        this.owner = owner;
    }

    void open() {
        URI address = transport.uri("/ws");
        URI uri = URI.create("ws" + address.toString().substring("http".length()));
        transport.client
                .newWebSocketBuilder()
                .header("Authorization", transport.authorization)
                .connectTimeout(HANDSHAKE)
                .buildAsync(uri, this)
                .whenComplete((opened, error) -> onLoop(() -> {
                    if (error != null) {
                        end(refused(error));
                    } else if (over) {
                        opened.abort();
                    } else {
                        socket = opened;
                        openSince = System.nanoTime();
                        heartbeat = transport.loop.scheduleWithFixedDelay(
                                this::beat, PING.toMillis(), PING.toMillis(), TimeUnit.MILLISECONDS);
                        owner.opened(this);
                        pump();
                    }
                }));
    }

    /** Whether it was open for this time. */
    boolean hasLasted(Duration time) {
        return socket != null && System.nanoTime() - openSince >= time.toNanos();
    }

    boolean isOpen() {
        return socket != null && !over;
    }

    /** Sends a command, and returns its id. */
    String send(String command, Map<String, Object> parameters) {
        String id = Integer.toString(++sent);
        Map<String, Object> message = Map.of("id", id, "cmd", command, "params", parameters);
        outgoing.add(new String(Json.write(message), StandardCharsets.UTF_8));
        pump();
        return id;
    }

    /** Ends it without telling the owner. */
    void abort() {
        over = true;
        stop();
    }

    private void pump() {
        WebSocket open = socket;
        if (open == null || sending || over) {
            return;
        }
        String message = outgoing.poll();
        if (message == null) {
            return;
        }
        sending = true;
        open.sendText(message, true).whenComplete((ignored, error) -> onLoop(() -> {
            sending = false;
            if (error == null) {
                pump();
            } else {
                end(new Closed(Failures.ofConnection(error), false));
            }
        }));
    }

    private void beat() {
        Duration silence = Duration.ofNanos(System.nanoTime() - heard);
        if (silence.compareTo(SILENCE) > 0) {
            end(new Closed(new UsherException(Code.CONNECTION_TIMEOUT, "the event connection is silent"), false));
        } else if (silence.compareTo(PING) >= 0) {
            send("ping", Map.of());
        }
    }

    private void end(Closed why) {
        if (!over) {
            over = true;
            stop();
            owner.closed(this, why);
        }
    }

    private void stop() {
        if (heartbeat != null) {
            heartbeat.cancel(false);
        }
        if (socket != null) {
            socket.abort();
        }
    }

    private void onLoop(Runnable task) {
        try {
            transport.loop.execute(task);
        } catch (RejectedExecutionException closed) {
            // The client was closed, and nobody waits any more.
        }
    }

    private static Closed refused(Throwable error) {
        Throwable cause = error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
        if (!(cause instanceof WebSocketHandshakeException refusal)) {
            return new Closed(Failures.ofConnection(cause), false);
        }
        int status = refusal.getResponse() == null ? 0 : refusal.getResponse().statusCode();
        if (status == 401) {
            return new Closed(new UsherException(Code.AUTH_FAILED, "the token is not accepted"), false);
        }
        UsherException failure = new UsherException(
                Code.UNEXPECTED_RESPONSE, "status " + status + " to the opening of a WebSocket", null, null, cause);
        // A service that is full or starts, or a proxy in front of one. Anything else: no WebSockets pass here.
        return new Closed(failure, status != 408 && status != 429 && status < 500 || status == 501 || status == 505);
    }

    @Override
    public void onOpen(WebSocket opened) {
        opened.request(1);
    }

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
        heard = System.nanoTime();
        if (incoming.length() + data.length() > LONGEST_MESSAGE) {
            onLoop(() -> end(new Closed(new UsherException(Code.UNEXPECTED_RESPONSE, "an event is too large"), false)));
            return null;
        }
        incoming.append(data);
        if (!last) {
            from.request(1);
            return null;
        }
        byte[] message = incoming.toString().getBytes(StandardCharsets.UTF_8);
        incoming.setLength(0);
        onLoop(() -> {
            if (over) {
                return;
            }
            try {
                owner.message(this, Json.object(message, "a message of the event connection"));
            } catch (RuntimeException error) {
                // Not the service, or not its protocol: HTTP tells.
                end(new Closed(Call.failure(error), true));
                return;
            }
            from.request(1);
        });
        return null;
    }

    @Override
    public @Nullable CompletionStage<?> onPing(WebSocket from, ByteBuffer message) {
        heard = System.nanoTime();
        from.request(1);
        return null;
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket from, int status, String reason) {
        UsherException error = status == 4001
                ? new UsherException(Code.AUTH_FAILED, "the token is not accepted any more")
                : new UsherException(Code.CONNECTION_CLOSED, "the service closed the event connection with " + status);
        onLoop(() -> end(new Closed(error, false)));
        return null;
    }

    @Override
    public void onError(WebSocket from, Throwable error) {
        onLoop(() -> end(new Closed(Failures.ofConnection(error), false)));
    }
}
