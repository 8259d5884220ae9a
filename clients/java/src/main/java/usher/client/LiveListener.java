package usher.client;

import usher.client.model.WebhookEvent;

/** Gets the events of all streams as they happen. */
@FunctionalInterface
public interface LiveListener {
    /**
     * An event.
     *
     * @param event the event and its stream
     */
    void onEvent(WebhookEvent event);

    /**
     * Events were left out, because this listener is too slow.
     *
     * @param count how many
     */
    default void onMissed(long count) {}

    /**
     * The feed has ended: the service has stopped, or the connection is broken. Nothing is repeated.
     *
     * @param error the error
     */
    default void onEnd(UsherException error) {}
}
