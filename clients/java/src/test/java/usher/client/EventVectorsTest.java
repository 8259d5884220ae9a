package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import usher.client.internal.Events;
import usher.client.internal.Json;
import usher.client.internal.JsonObject;
import usher.client.model.Event;
import usher.client.model.KeyHandshakeData;
import usher.client.model.OtherData;

class EventVectorsTest {
    private static final Map<String, OperationKind<?>> KINDS = Map.of(
            "login", OperationKind.AUTHENTICATION,
            "authentication", OperationKind.AUTHENTICATION,
            "payment", OperationKind.PAYMENT,
            "subscription", OperationKind.SUBSCRIPTION,
            "subscriptions", OperationKind.PAYMENT,
            "invoice_request", OperationKind.INVOICE,
            "ticket", OperationKind.TICKET);

    @TestFactory
    Stream<DynamicTest> everyEventMeansTheSameToEveryClient() {
        return Vectors.of("events.json", vector -> {
            Event event = vector.object("event", Events::event);
            assertEquals(vector.object("event").string("type"), event.type());
            assertFalse(event.data() instanceof OtherData, "its type is known");
            // No text of an event shows what may not be in a log.
            JsonObject data = vector.object("event").object("data");
            for (String secret : new String[] {"token", "session_token", "preimage"}) {
                if (data.has(secret)) {
                    assertFalse(event.toString().contains(data.string(secret)), event.toString());
                }
            }
            if (vector.string("operation").equals("key_handshake") && event.data() instanceof KeyHandshakeData handshake) {
                assertEquals(data.string("main_key"), handshake.mainKey());
                return;
            }
            OperationKind<?> kind = KINDS.getOrDefault(vector.string("operation"), OperationKind.AUTHENTICATION);
            switch (vector.string("meaning")) {
                case "progress" -> assertNull(kind.read(event));
                case "result" -> assertNotNull(kind.read(event));
                case "failure" -> {
                    OperationFailedException error = assertThrows(OperationFailedException.class, () -> kind.read(event));
                    assertEquals(data.string("status"), error.status());
                    assertEquals(UsherException.Code.SERVER_ERROR, error.code());
                }
                default -> throw new AssertionError(vector.string("meaning"));
            }
        });
    }

    @Test
    void accessIsGrantedOnApprovedAlone() {
        Vectors.read("clients/test-vectors/events.json").list("cases", vector -> vector).forEach(vector -> {
            Event event = vector.object("event", Events::event);
            Object result;
            try {
                result = OperationKind.AUTHENTICATION.read(event);
            } catch (OperationFailedException failure) {
                return;
            }
            boolean approved = List.of("login", "authentication").contains(vector.string("operation"))
                    && vector.string("name").equals("approved");
            assertEquals(approved, result instanceof LoginResult.Approved, vector.string("name"));
        });
    }

    @Test
    void aLoginThatWasNotApprovedHasNoKey() {
        String key = "ab".repeat(32);
        for (String status : new String[] {"user_approved", "declined", "timeout", "error"}) {
            Event event = Events.event(Json.object(("{\"index\":0,\"type\":\"StatusUpdate\",\"timestamp\":1,\"data\":{\"status\":\""
                            + status + "\",\"reason\":\"no\",\"main_key\":\"" + key + "\"}}")
                    .getBytes(), "it"));
            switch (status) {
                case "user_approved" -> assertNull(OperationKind.AUTHENTICATION.read(event));
                // A record of a sealed type: it has no member but the reason.
                case "declined" -> assertEquals(new LoginResult.Declined("no"), OperationKind.AUTHENTICATION.read(event));
                default -> assertFalse(
                        assertThrows(OperationFailedException.class, () -> OperationKind.AUTHENTICATION.read(event))
                                .getMessage()
                                .contains(key));
            }
        }
        assertEquals(
                List.of("reason"),
                Stream.of(LoginResult.Declined.class.getRecordComponents())
                        .map(java.lang.reflect.RecordComponent::getName)
                        .toList());
    }

    @Test
    void aTypeOfALaterVersionIsReadAndChangesNothing() {
        Event event = Events.event(Json.object(
                "{\"index\":3,\"type\":\"Later\",\"timestamp\":1,\"data\":{\"a\":[1,{\"b\":null}]},\"new\":1}".getBytes(), "it"));
        OtherData data = assertInstanceOf(OtherData.class, event.data());
        assertEquals("{a=[1, {b=null}]}", data.members().toString());
        assertNull(OperationKind.PAYMENT.read(event));
    }
}
