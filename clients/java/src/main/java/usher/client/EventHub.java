package usher.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException.Code;
import usher.client.internal.Events;
import usher.client.internal.Json;
import usher.client.internal.Request;
import usher.client.model.Event;
import usher.client.model.EventPage;
import usher.client.model.Problem;

/**
 * Reads all streams that somebody waits for over one WebSocket (one more for each further 1,000 streams), and over long
 * polls where no WebSocket passes. All of its state belongs to one thread, the loop.
 *
 * <p>A stream is read from the lowest index that one of its readers wants, and each reader takes exactly the index that it
 * wants next. So it does not matter what is sent again after a broken connection, or because of another reader.
 */
final class EventHub implements EventSocket.Owner {
    /** How long a connection without streams is kept. */
    private static final Duration IDLE = Duration.ofSeconds(10);
    /** After what time a WebSocket is tried again where none passed: a proxy may have been at fault for a moment. */
    private static final Duration POLLING = Duration.ofMinutes(10);
    /** How long the service keeps a long poll open. Shorter when others wait for their turn. */
    private static final Duration POLL = Duration.ofSeconds(25);

    private static final Duration CROWDED_POLL = Duration.ofSeconds(1);
    /** A long poll without events that is over sooner did not wait. */
    private static final Duration SHORT_POLL = Duration.ofMillis(500);
    /** The longest pause, whatever the service demands. */
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);
    private static final int POLLS = 64;

    /** A stream and who reads it. */
    static final class Stream {
        final String id;
        final Set<StreamReader> readers = new LinkedHashSet<>();
        @Nullable EventSocket socket;
        @Nullable Call<EventPage> poll;
        /** The newest subscription, until it has a response: what comes before that is of an older one. */
        @Nullable String unanswered;

        int failures;
        /** Where events were missing on this connection. */
        long missing = -1;

        Stream(String id) {
            this.id = id;
        }

        long next() {
            return readers.stream().mapToLong(StreamReader::next).min().orElse(0);
        }
    }

    private final Transport transport;
    private final Duration patience;
    private final AsyncSemaphore polls;
    private final Map<String, Stream> streams = new HashMap<>();
    private final Set<EventSocket> sockets = new HashSet<>();
    private boolean polling;
    private boolean waiting;
    private boolean closed;
    private int failures;
    private @Nullable Long brokenSince;

    EventHub(Transport transport, Duration patience) {
        this.transport = transport;
        this.patience = patience;
        this.polls = new AsyncSemaphore(POLLS, transport.executor);
    }

    /** Starts to read. */
    void watch(StreamReader reader) {
        if (!onLoop(() -> add(reader))) {
            reader.fail(Transport.closedError());
        }
    }

    /** Stops to read. */
    void unwatch(StreamReader reader) {
        onLoop(() -> remove(reader));
    }

    /** Ends all: their readers fail. The loop ends after it. */
    void close(Runnable afterwards) {
        onLoop(() -> {
            closed = true;
            sockets.forEach(EventSocket::abort);
            sockets.clear();
            failAll(Transport.closedError());
            transport.loop.shutdown();
            afterwards.run();
        });
    }

    private boolean onLoop(Runnable task) {
        try {
            transport.loop.execute(task);
            return true;
        } catch (RejectedExecutionException ended) {
            return false;
        }
    }

    private void add(StreamReader reader) {
        if (closed) {
            reader.fail(Transport.closedError());
            return;
        }
        Stream stream = streams.computeIfAbsent(reader.streamId, Stream::new);
        stream.readers.add(reader);
        connect(stream);
    }

    private void remove(StreamReader reader) {
        Stream stream = streams.get(reader.streamId);
        if (stream != null && stream.readers.remove(reader) && stream.readers.isEmpty()) {
            EventSocket socket = stream.socket;
            if (socket != null && socket.isOpen()) {
                socket.send("unsubscribe", Map.of("stream_id", stream.id));
            }
            forget(stream);
        }
    }

    private void forget(Stream stream) {
        streams.remove(stream.id);
        detach(stream);
        Call<EventPage> poll = stream.poll;
        stream.poll = null;
        if (poll != null) {
            poll.cancel(true);
        }
    }

    private void detach(Stream stream) {
        EventSocket socket = stream.socket;
        stream.socket = null;
        stream.missing = -1;
        if (socket == null) {
            return;
        }
        answered(socket, stream);
        socket.streams.remove(stream);
        if (socket.streams.isEmpty()) {
            transport.loop.schedule(
                    () -> {
                        if (socket.streams.isEmpty() && sockets.remove(socket)) {
                            socket.abort();
                        }
                    },
                    IDLE.toMillis(),
                    TimeUnit.MILLISECONDS);
        }
    }

    /** Has a stream read, from what its readers want next. */
    private void connect(Stream stream) {
        if (streams.get(stream.id) != stream) {
            return;
        }
        if (polling) {
            poll(stream);
        } else if (stream.socket != null) {
            subscribe(stream.socket, stream);
        } else if (!waiting) {
            EventSocket socket = null;
            for (EventSocket candidate : sockets) {
                if (candidate.streams.size() < EventSocket.STREAMS) {
                    socket = candidate;
                    break;
                }
            }
            boolean isNew = socket == null;
            if (socket == null) {
                socket = new EventSocket(transport, this);
                sockets.add(socket);
            }
            stream.socket = socket;
            socket.streams.add(stream);
            if (isNew) {
                socket.open();
            } else {
                subscribe(socket, stream);
            }
        }
    }

    private static void subscribe(EventSocket socket, Stream stream) {
        if (socket.isOpen()) {
            // It replaces an older one, which then may have no response.
            answered(socket, stream);
            String id = socket.send("subscribe", Map.of("stream_id", stream.id, "after", stream.next()));
            stream.unanswered = id;
            socket.pending.put(id, stream);
        }
    }

    private static void answered(EventSocket socket, Stream stream) {
        if (stream.unanswered != null) {
            socket.pending.remove(stream.unanswered);
            stream.unanswered = null;
        }
    }

    @Override
    public void opened(EventSocket socket) {
        for (Stream stream : List.copyOf(socket.streams)) {
            subscribe(socket, stream);
        }
    }

    @Override
    public void closed(EventSocket socket, EventSocket.Closed why) {
        sockets.remove(socket);
        // One that breaks at once would break at once again.
        if (socket.hasLasted(IDLE)) {
            failures = 0;
        }
        for (Stream stream : List.copyOf(socket.streams)) {
            detach(stream);
        }
        if (why.error().code() == Code.AUTH_FAILED) {
            failAll(why.error());
        } else if (why.unsupported()) {
            polling = true;
            transport.loop.schedule(() -> polling = false, POLLING.toMillis(), TimeUnit.MILLISECONDS);
            List.copyOf(streams.values()).forEach(this::connect);
        } else {
            broken(why.error());
            reconnect();
        }
    }

    /** The service is away: whoever has had enough of it fails. */
    private void broken(UsherException error) {
        long now = System.nanoTime();
        if (brokenSince == null) {
            brokenSince = now;
        }
        if (now - brokenSince < patience.toNanos()) {
            return;
        }
        UsherException failure = new UsherException(
                Code.NOT_CONNECTED, "no connection for " + patience.toSeconds() + " s: " + error.getMessage(), null, null, error);
        for (Stream stream : List.copyOf(streams.values())) {
            for (StreamReader reader : List.copyOf(stream.readers)) {
                if (!reader.patient) {
                    remove(reader);
                    reader.fail(failure);
                }
            }
        }
    }

    private void reconnect() {
        if (waiting || streams.isEmpty()) {
            return;
        }
        waiting = true;
        failures++;
        transport.loop.schedule(
                () -> {
                    waiting = false;
                    List.copyOf(streams.values()).forEach(stream -> {
                        if (stream.socket == null) {
                            connect(stream);
                        }
                    });
                },
                Transport.pause(failures).toMillis(),
                TimeUnit.MILLISECONDS);
    }

    @Override
    public void message(EventSocket socket, ObjectNode message) {
        String type = Json.member(message, "type", String.class);
        if (message.hasNonNull("id")) {
            Stream stream = socket.pending.remove(Json.member(message, "id", String.class));
            if (stream != null) {
                stream.unanswered = null;
                if (type.equals("success")) {
                    accepted(stream, Json.member(message, "data", ObjectNode.class));
                } else {
                    refused(stream, message);
                }
            }
            return;
        }
        Stream stream = message.hasNonNull("stream_id") ? streams.get(Json.member(message, "stream_id", String.class)) : null;
        if (stream == null || stream.socket != socket) {
            return;
        }
        switch (type) {
            case "event" -> {
                try {
                    Event event = Events.socketEvent(message);
                    deliver(stream, event);
                    if (stream.next() <= event.index()) {
                        catchUp(socket, stream);
                    }
                } catch (UsherException error) {
                    fail(stream, error);
                }
            }
            case "done" -> {
                // Events that were asked for since then are still to come, with another end.
                if (stream.unanswered != null) {
                    return;
                }
                Long end = Json.optional(message, "next", Long.class);
                if (end != null && stream.next() < end) {
                    catchUp(socket, stream);
                } else {
                    finish(stream);
                }
            }
            case "error" -> refused(stream, message);
            default -> {
                // Of a later version.
            }
        }
    }

    /** Events are missing: asks for them, once. */
    private void catchUp(EventSocket socket, Stream stream) {
        if (stream.unanswered != null) {
            return;
        }
        long next = stream.next();
        if (stream.missing == next) {
            fail(stream, missingEvents());
        } else {
            stream.missing = next;
            subscribe(socket, stream);
        }
    }

    private static UsherException missingEvents() {
        return new UsherException(Code.PARSE_ERROR, "events of the stream are missing");
    }

    private void accepted(Stream stream, ObjectNode data) {
        brokenSince = null;
        stream.failures = 0;
        Long first = Json.optional(data, "first", Long.class);
        if (first != null) {
            List.copyOf(stream.readers).forEach(reader -> reader.removedBefore(first));
        }
    }

    private void refused(Stream stream, ObjectNode message) {
        Long seconds = Json.optional(message, "retry_after", Long.class);
        Duration retryAfter = seconds == null ? null : Duration.ofSeconds(seconds);
        refused(stream, Failures.ofProblem(Json.member(message, "error", Problem.class), retryAfter));
    }

    private void refused(Stream stream, UsherException error) {
        if (streams.get(stream.id) != stream) {
            return;
        }
        Problem problem = error.problem();
        if (error.isProblem("events_removed") && problem != null && problem.extensions().get("first") instanceof Long first) {
            List.copyOf(stream.readers).forEach(reader -> reader.removedBefore(first));
            connect(stream);
        } else if (error.code() == Code.AUTH_FAILED) {
            failAll(error);
        } else if (problem == null || problem.status() >= 500 || problem.status() == 429 || problem.status() == 408) {
            stream.failures++;
            Duration pause = Transport.pause(stream.failures);
            if (error.retryAfter() != null && error.retryAfter().compareTo(pause) > 0) {
                pause = error.retryAfter();
            }
            later(stream, pause);
        } else {
            fail(stream, error);
        }
    }

    private void later(Stream stream, Duration pause) {
        Duration shorter = pause.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause;
        transport.loop.schedule(() -> connect(stream), shorter.toMillis(), TimeUnit.MILLISECONDS);
    }

    private static void deliver(Stream stream, Event event) {
        List.copyOf(stream.readers).forEach(reader -> reader.offer(event));
    }

    private void finish(Stream stream) {
        List<StreamReader> readers = new ArrayList<>(stream.readers);
        forget(stream);
        readers.forEach(StreamReader::done);
    }

    private void fail(Stream stream, UsherException error) {
        List<StreamReader> readers = new ArrayList<>(stream.readers);
        forget(stream);
        readers.forEach(reader -> reader.fail(error));
    }

    private void failAll(UsherException error) {
        List.copyOf(streams.values()).forEach(stream -> fail(stream, error));
    }

    /** Reads a stream by long polls; again from the start of what is wanted if it is being read. */
    private void poll(Stream stream) {
        Call<EventPage> before = stream.poll;
        stream.poll = null;
        if (before != null) {
            before.cancel(true);
        }
        Duration wait = polls.isCrowded() ? CROWDED_POLL : POLL;
        long after = stream.next();
        long begun = System.nanoTime();
        Request request = Request.of("GET", "/events/{stream_id}", stream.id)
                .query(Map.of("after", after, "wait", wait.toSeconds()));
        Call<EventPage> call = transport.longPoll(polls, request, wait, Events::eventPage);
        stream.poll = call;
        call.whenComplete((page, error) -> onLoop(() -> {
            if (stream.poll != call) {
                return;
            }
            stream.poll = null;
            if (error != null) {
                UsherException failure = Call.failure(error);
                if (failure.problem() == null && failure.code() != Code.AUTH_FAILED) {
                    broken(failure);
                }
                refused(stream, failure);
                return;
            }
            brokenSince = null;
            boolean waited = System.nanoTime() - begun >= SHORT_POLL.toNanos();
            stream.failures = waited || !page.events().isEmpty() ? 0 : stream.failures + 1;
            read(stream, page, after);
        }));
    }

    private void read(Stream stream, EventPage page, long after) {
        Long first = page.first();
        long end = first == null ? after : Math.max(first, after);
        for (Event event : page.events()) {
            if (event.index() > end) {
                // A page is what a stream is: to ask again would bring the same.
                fail(stream, missingEvents());
                return;
            }
            end = Math.max(end, event.index() + 1);
        }
        if (page.done() && page.next() > end) {
            fail(stream, missingEvents());
            return;
        }
        if (first != null) {
            List.copyOf(stream.readers).forEach(reader -> reader.removedBefore(first));
        }
        page.events().forEach(event -> deliver(stream, event));
        if (streams.get(stream.id) != stream) {
            return;
        }
        if (page.done()) {
            finish(stream);
        } else if (stream.failures > 0) {
            // Something before the service does not wait for events: no storm of requests.
            later(stream, Transport.pause(stream.failures));
        } else {
            connect(stream);
        }
    }
}
