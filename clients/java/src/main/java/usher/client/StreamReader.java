package usher.client;

import usher.client.model.Event;

/**
 * Reads one stream from an index on: each event once, in order, whatever breaks in between. Its methods, and those of its
 * sink, run on the loop of {@link EventHub}.
 */
final class StreamReader {
    /** Takes the events. */
    interface Sink {
        void event(Event event);

        /** Events before this index were removed. */
        void missed(long first);

        void done();

        void failed(UsherException error);
    }

    final String streamId;
    /** Whether it goes on for as long as the service is away. */
    final boolean patient;

    private final Sink sink;
    private long next;

    StreamReader(String streamId, long after, boolean patient, Sink sink) {
        this.streamId = streamId;
        this.next = after;
        this.patient = patient;
        this.sink = sink;
    }

    /** The index that it wants next. */
    long next() {
        return next;
    }

    void offer(Event event) {
        // What another reader of the stream asked for again, or what comes before a reply to our own subscription.
        if (event.index() == next) {
            next++;
            sink.event(event);
        }
    }

    void removedBefore(long first) {
        if (next < first) {
            next = first;
            sink.missed(first);
        }
    }

    void done() {
        sink.done();
    }

    void fail(UsherException error) {
        sink.failed(error);
    }
}
