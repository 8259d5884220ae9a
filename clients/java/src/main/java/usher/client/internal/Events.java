package usher.client.internal;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import usher.client.model.*;

/** Reads events from JSON: the class of their data follows from their type. */
public final class Events {
    private static final Map<String, Class<? extends EventData>> DATA = Map.of(
            "KeyHandshake", KeyHandshakeData.class,
            "StatusUpdate", StatusUpdateData.class,
            "Subscription", SubscriptionData.class,
            "SubscriptionPayment", SubscriptionPaymentData.class,
            "SubscriptionClosed", SubscriptionClosedData.class,
            "InvoiceResponse", InvoiceData.class,
            "CashuResponse", CashuResponseData.class);

    private Events() {}

    public static Event event(ObjectNode json) {
        return event(json, "type");
    }

    /** An event as `/ws` sends it: with its type in {@code event_type}. */
    public static Event socketEvent(ObjectNode json) {
        return event(json, "event_type");
    }

    private static Event event(ObjectNode json, String typeMember) {
        String type = Json.member(json, typeMember, String.class);
        ObjectNode data = Json.member(json, "data", ObjectNode.class);
        Class<? extends EventData> known = DATA.get(type);
        return new Event(
                Json.member(json, "index", Long.class),
                type,
                Json.member(json, "timestamp", Long.class),
                known == null ? new OtherData(Json.members(data)) : Json.read(data, known));
    }

    public static EventPage eventPage(ObjectNode json) {
        List<Event> events = new ArrayList<>();
        for (ObjectNode event : Json.member(json, "events", ObjectNode[].class)) {
            events.add(event(event));
        }
        return new EventPage(
                events,
                Json.member(json, "next", Long.class),
                Json.member(json, "done", Boolean.class),
                Json.optional(json, "first", Long.class));
    }

    public static WebhookEvent webhookEvent(ObjectNode json) {
        return new WebhookEvent(Json.member(json, "stream_id", String.class), event(json));
    }
}
