package usher.client.model;

/**
 * An event and its stream, as webhooks and the live feed send it.
 *
 * @param streamId the event's stream: a UUID, or {@code subscriptions}
 * @param event the event
 */
public record WebhookEvent(String streamId, Event event) {
    /**
     * Names the event, the same each time it is sent: {@code <stream_id>:<index>}. Store the ids of the events that you
     * have handled, and ignore repetitions.
     *
     * @return the id
     */
    public String id() {
        return streamId + ":" + event.index();
    }
}
