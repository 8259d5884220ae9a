package usher.client;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;
import usher.client.model.Event;

/**
 * Hands the events of a stream to a listener: one after the other, on the client's threads, as many as it wants. One that
 * is slow stops only its own reading: the stream is read again later, from where it is.
 */
final class ListenerSubscription implements StreamReader.Sink, Flow.Subscription, WatchHandle {
    /** Events that wait for the listener before the reading stops. */
    private static final int MOST = 1000;

    /** Where the events come from: {@link #event} and the other methods of the sink. */
    interface Source {
        /** Starts to read, or goes on after {@link #stop}. */
        void start();

        void stop();
    }

    private final Executor executor;
    private final StreamListener listener;
    private Source source = new Source() {
        @Override
        public void start() {}

        @Override
        public void stop() {}
    };
    private final Queue<Runnable> queue = new ArrayDeque<>();
    private long wanted;
    private boolean running;
    private boolean paused;
    private boolean over;
    private @Nullable Runnable end;

    ListenerSubscription(Executor executor, StreamListener listener) {
        this.executor = executor;
        this.listener = listener;
    }

    /** Starts, unless it was cancelled already. */
    void start(Source from) {
        synchronized (this) {
            source = from;
            if (over) {
                return;
            }
        }
        from.start();
    }

    /** Reads one stream. */
    void read(EventHub hub, String streamId, long after) {
        StreamReader reader = new StreamReader(streamId, after, true, this);
        start(new Source() {
            @Override
            public void start() {
                hub.watch(reader);
            }

            @Override
            public void stop() {
                hub.unwatch(reader);
            }
        });
    }

    /** Gives a subscriber what a listener gets. */
    static StreamListener forSubscriber(Flow.Subscriber<? super Event> subscriber) {
        return new StreamListener() {
            @Override
            public void onEvent(Event event) {
                subscriber.onNext(event);
            }

            @Override
            public void onMissed(long first) {
                throw new UsherException(
                        UsherException.Code.SERVER_ERROR, "the events before index " + first + " were removed");
            }

            @Override
            public void onDone() {
                subscriber.onComplete();
            }

            @Override
            public void onError(UsherException error) {
                subscriber.onError(error);
            }
        };
    }

    @Override
    public void request(long number) {
        if (number <= 0) {
            fail(new IllegalArgumentException("a subscriber must request more than nothing"));
        } else {
            synchronized (this) {
                wanted = wanted + number < 0 ? Long.MAX_VALUE : wanted + number;
            }
        }
        run();
    }

    @Override
    public void cancel() {
        synchronized (this) {
            over = true;
            queue.clear();
            end = null;
        }
        source.stop();
    }

    @Override
    public void close() {
        cancel();
    }

    @Override
    public void event(Event event) {
        put(() -> listener.onEvent(event));
    }

    @Override
    public void missed(long first) {
        put(() -> listener.onMissed(first));
    }

    @Override
    public void done() {
        ends(listener::onDone);
    }

    @Override
    public void failed(UsherException error) {
        ends(() -> listener.onError(error));
    }

    private void put(Runnable call) {
        synchronized (this) {
            // After a failure, what follows would leave a gap.
            if (over || end != null) {
                return;
            }
            queue.add(call);
            if (queue.size() >= MOST && !paused) {
                paused = true;
                source.stop();
            }
        }
        run();
    }

    private void ends(Runnable call) {
        synchronized (this) {
            if (over || end != null) {
                return;
            }
            end = call;
        }
        run();
    }

    private void fail(Throwable error) {
        synchronized (this) {
            queue.clear();
            end = () -> listener.onError(Call.failure(error));
        }
        source.stop();
    }

    private void run() {
        synchronized (this) {
            if (running) {
                return;
            }
            running = true;
        }
        executor.execute(this::drain);
    }

    private void drain() {
        while (true) {
            Runnable call;
            boolean last = false;
            synchronized (this) {
                if (paused && queue.isEmpty() && !over && end == null) {
                    paused = false;
                    source.start();
                }
                call = wanted > 0 ? queue.poll() : null;
                if (call != null) {
                    wanted = wanted == Long.MAX_VALUE ? wanted : wanted - 1;
                } else if (queue.isEmpty() && end != null && !over) {
                    call = end;
                    over = true;
                    last = true;
                } else {
                    running = false;
                    return;
                }
            }
            try {
                call.run();
            } catch (Throwable error) { // Kotlin throws checked ones, too.
                if (last) {
                    throw error;
                }
                fail(error);
            }
        }
    }
}
