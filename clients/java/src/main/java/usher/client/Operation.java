package usher.client;

import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException.Code;
import usher.client.model.Event;
import usher.client.model.StatusUpdateData;

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
     * <p>Money can arrive after {@code timeout}, {@code error} or {@code user_rejected}: then the stream gets a later {@code
     * paid}. If it is there already, it is the result; one that comes later is reported by a webhook.
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
    public WatchHandle onEvent(StreamListener listener) {
        return usher.watch(streamId, 0, listener);
    }

    /**
     * Waits for the event that ends an operation. {@code timeout}, {@code error} and {@code user_rejected} count only when
     * no later event is there, which the end of the stream tells.
     */
    static final class Result<R> implements StreamReader.Sink {
        private final Call<R> call;
        private final OperationKindReader<R> reader;
        private boolean begun;
        private boolean over;
        /** How it ends if nothing follows: one of them, or neither yet. */
        private @Nullable R refusal;

        private @Nullable UsherException failure;

        Result(Call<R> call, OperationKindReader<R> reader) {
            this.call = call;
            this.reader = reader;
        }

        @Override
        public void event(Event event) {
            begun = true;
            try {
                R result = reader.read(event);
                if (result == null) {
                    return;
                }
                failure = null;
                refusal = result;
                if (!(event.data() instanceof StatusUpdateData data && data.status().equals("user_rejected"))) {
                    succeed(result);
                }
            } catch (OperationFailedException error) {
                refusal = null;
                failure = error;
            } catch (RuntimeException error) {
                fail(Call.failure(error));
            }
        }

        @Override
        public void missed(long first) {
            // It was to begin with the first event that is left.
            if (begun) {
                failed(new UsherException(Code.SERVER_ERROR, "the events before index " + first + " were removed"));
            }
        }

        @Override
        public void done() {
            // A handshake that was closed, for example.
            failed(new OperationFailedException());
        }

        @Override
        public void failed(UsherException error) {
            R last = refusal;
            if (last != null) {
                succeed(last);
            } else {
                fail(failure == null ? error : failure);
            }
        }

        private void succeed(R result) {
            if (!over) {
                over = true;
                call.completeAsync(() -> result);
            }
        }

        private void fail(UsherException error) {
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
