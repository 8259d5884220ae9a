package usher.client.internal;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import usher.client.model.Event;
import usher.client.model.EventPage;
import usher.client.model.FieldError;
import usher.client.model.Problem;
import usher.client.model.WebhookEvent;

/** Reads events and problems from JSON. */
public final class Events {
    private static final Set<String> PROBLEM_MEMBERS =
            Set.of("type", "title", "status", "detail", "code", "request_id", "errors");

    private Events() {}

    public static Event event(JsonObject json) {
        return event(json, "type");
    }

    /** An event as `/ws` sends it: with its type in {@code event_type}. */
    public static Event socketEvent(JsonObject json) {
        return event(json, "event_type");
    }

    private static Event event(JsonObject json, String typeMember) {
        String type = json.string(typeMember);
        return new Event(
                json.integer("index"), type, json.integer("timestamp"), Decoders.eventData(type, json.object("data")));
    }

    public static EventPage eventPage(JsonObject json) {
        return new EventPage(
                json.list("events", Events::event),
                json.integer("next"),
                json.flag("done"),
                json.optionalInteger("first"));
    }

    public static WebhookEvent webhookEvent(JsonObject json) {
        return new WebhookEvent(json.string("stream_id"), event(json));
    }

    public static Problem problem(JsonObject json) {
        List<FieldError> errors = json.optionalList(
                "errors", error -> new FieldError(error.string("pointer"), error.string("detail")));
        Map<String, Object> extensions = new LinkedHashMap<>(json.members());
        extensions.keySet().removeAll(PROBLEM_MEMBERS);
        return new Problem(
                json.string("type"),
                json.string("title"),
                (int) json.integer("status"),
                json.string("detail"),
                json.string("code"),
                json.string("request_id"),
                errors == null ? List.of() : errors,
                java.util.Collections.unmodifiableMap(extensions));
    }
}
