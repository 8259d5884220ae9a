package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import usher.client.internal.Events;
import usher.client.internal.Json;
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
            Event event = Events.event(vector.withObject("event"));
            assertEquals(vector.withObject("event").get("type").textValue(), event.type());
            assertFalse(event.data() instanceof OtherData, "its type is known");
            // No text of an event shows what may not be in a log.
            ObjectNode data = vector.withObject("event").withObject("data");
            for (String secret : new String[] {"token", "session_token", "preimage"}) {
                if (data.hasNonNull(secret)) {
                    assertFalse(event.toString().contains(data.get(secret).textValue()), event.toString());
                }
            }
            if (vector.get("operation").textValue().equals("key_handshake") && event.data() instanceof KeyHandshakeData handshake) {
                assertEquals(data.get("main_key").textValue(), handshake.mainKey());
                return;
            }
            OperationKind<?> kind = KINDS.getOrDefault(vector.get("operation").textValue(), OperationKind.AUTHENTICATION);
            switch (vector.get("meaning").textValue()) {
                case "progress" -> assertNull(kind.read(event));
                case "result" -> assertNotNull(kind.read(event));
                case "failure" -> {
                    OperationFailedException error = assertThrows(OperationFailedException.class, () -> kind.read(event));
                    assertEquals(data.get("status").textValue(), error.status());
                    assertEquals(UsherException.Code.SERVER_ERROR, error.code());
                }
                default -> throw new AssertionError(vector.get("meaning").textValue());
            }
        });
    }

    @Test
    void accessIsGrantedOnApprovedAlone() {
        Vectors.read("events.json").forEach(vector -> {
            Event event = Events.event(vector.withObject("event"));
            Object result;
            try {
                result = OperationKind.AUTHENTICATION.read(event);
            } catch (OperationFailedException failure) {
                return;
            }
            boolean approved = List.of("login", "authentication").contains(vector.get("operation").textValue())
                    && vector.get("name").textValue().equals("approved");
            assertEquals(approved, result instanceof LoginResult.Approved, vector.get("name").textValue());
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
