package usher.client;

import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException.Code;
import usher.client.model.Event;

/**
 * Something that the service does for you until it has a result: it goes on whether you wait for it or not, and survives a
 * restart of the service and of your app. Store {@link #streamId}, and {@link Usher#resume} finds it again.
 *
 * @param <R> the result
 */
public class Operation<R> {
    final Usher usher;
    private final String streamId;
    private final OperationKind<R> kind;

    Operation(Usher usher, String streamId, OperationKind<R> kind) {
        this.usher = usher;
        this.streamId = streamId;
        this.kind = kind;
    }

    /**
     * The stream with its events.
     *
     * @return the id of the stream
     */
    public String streamId() {
        return streamId;
    }

    /**
     * Waits for the result, for as long as it takes: the service ends each operation with {@code timeout} at the latest.
     * Broken connections are made again. {@link Call#cancel} stops the waiting, not the operation.
     *
     * <p>Money can arrive after the end of a payment: then the stream gets a later {@code paid}, which webhooks report.
     *
     * @return the result; fails with {@link OperationFailedException} when the operation ends with {@code timeout} or {@code
     *     error}, or is closed
     */
    public Call<R> result() {
        return usher.await(streamId, kind);
    }

    /**
     * All events from the first on. Each subscriber reads the stream for itself, at its own pace.
     *
     * @return the events
     */
    public Flow.Publisher<Event> events() {
        return usher.events(streamId, 0);
    }

    /**
     * Hands all events to a listener, from the first on.
     *
     * @param listener gets the events
     * @return closes the reading
     */
    public Watch onEvent(StreamListener listener) {
        return usher.watch(streamId, 0, listener);
    }

    /** Waits for the event that ends an operation. */
    static final class Result<R> implements Watcher.Sink {
        private final Call<R> call;
        private final OperationKindReader<R> reader;
        private boolean over;

        Result(Call<R> call, OperationKindReader<R> reader) {
            this.call = call;
            this.reader = reader;
        }

        @Override
        public void event(Event event) {
            try {
                R result = reader.read(event);
                if (result != null && !over) {
                    over = true;
                    call.completeAsync(() -> result);
                }
            } catch (RuntimeException error) {
                failed(Call.failure(error));
            }
        }

        @Override
        public void missed(long first) {
            failed(new UsherException(Code.SERVER_ERROR, "the events before index " + first + " were removed"));
        }

        @Override
        public void done() {
            // A handshake that was closed, for example.
            failed(new OperationFailedException());
        }

        @Override
        public void failed(UsherException error) {
            if (!over) {
                over = true;
                call.defaultExecutor().execute(() -> call.completeExceptionally(error));
            }
        }
    }

    /** Reads an event: the result, or null if it goes on. */
    interface OperationKindReader<R> {
        @Nullable R read(Event event);
    }
}
