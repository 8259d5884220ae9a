package usher.client;

import usher.client.model.Event;

/** Gets the events of a stream, one after the other, on a thread of the client. An exception that it throws ends the reading. */
@FunctionalInterface
public interface StreamListener {
    /**
     * An event, each once and in order. After you have handled it, {@code index + 1} is where to go on after a restart of
     * your app.
     *
     * @param event the event
     */
    void onEvent(Event event);

    /**
     * Earlier events were removed, because the service keeps them for {@code streams.retention_days} only. Catch up by other
     * means, for example with {@link UsherApi#listSubscriptions}.
     *
     * @param first the index that comes next
     */
    default void onMissed(long first) {}

    /** The stream has ended, and this listener has all of its events. */
    default void onDone() {}

    /**
     * The reading has ended with an error, or with an exception of this listener.
     *
     * @param error the error
     */
    default void onError(UsherException error) {
        System.getLogger("usher.client")
                .log(System.Logger.Level.WARNING, "reading a stream has ended: " + error.getMessage(), error.getCause());
    }
}
