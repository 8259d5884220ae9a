package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import usher.client.UsherException.Code;

/** Streams that go on after their end, and servers that are not the service: no storm, no endless waiting, never paid by mistake. */
@Timeout(60)
class HostileServerTest {
    private static String event(int index, String status) {
        return "{\"index\":" + index + ",\"type\":\"StatusUpdate\",\"timestamp\":1,\"data\":{\"status\":\"" + status + "\"}}";
    }

    private static String page(int next, boolean done, String... events) {
        return "{\"events\":[" + String.join(",", events) + "],\"next\":" + next + ",\"done\":" + done + "}";
    }

    private static String push(int index, String status) {
        return event(index, status).replace("\"type\":", "\"stream_id\":\"s\",\"type\":\"event\",\"event_type\":");
    }

    private static Usher client(String url) {
        return Usher.builder(url, "t").versionCheck(false).retries(0).build();
    }

    /** A service without a WebSocket. */
    private static Call<PaymentResult> payment(ScriptedServer server, Usher usher) {
        server.respond(ScriptedServer.status(404, "text/plain", ""));
        return usher.resume(OperationKind.PAYMENT, "s").result();
    }

    @Test
    void moneyThatArrivedAfterTheEndIsTheResult() throws Exception {
        for (String end : new String[] {"timeout", "error", "user_rejected"}) {
            try (ScriptedServer server = new ScriptedServer();
                    Usher usher = client(server.url())) {
                server.respondAlways(ScriptedServer.json(page(2, true, event(0, end), event(1, "paid"))));
                assertInstanceOf(PaymentResult.Paid.class, payment(server, usher).await(), end);
            }
        }
    }

    @Test
    void anEndThatNothingFollowsIsTheEnd() throws Exception {
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = client(server.url())) {
            Call<PaymentResult> late = payment(server, usher);
            server.respond(ScriptedServer.json(page(1, false, event(0, "timeout"))))
                    .respondAlways(ScriptedServer.json(page(1, true)));
            OperationFailedException error = assertThrows(OperationFailedException.class, late::await);
            assertEquals("timeout", error.status());
            assertEquals(0, error.event().index());
        }
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = client(server.url())) {
            server.respondAlways(ScriptedServer.json(page(2, true, event(0, "timeout"), event(1, "user_rejected"))));
            assertInstanceOf(PaymentResult.Rejected.class, payment(server, usher).await());
        }
    }

    @Test
    void aPageWithAGapIsAParseErrorAndNeverPaid() throws Exception {
        for (String page : new String[] {
            page(3, true, event(2, "paid")), page(3, true, event(0, "user_approved"), event(2, "paid")), page(2, true, event(0, "timeout"))
        }) {
            try (ScriptedServer server = new ScriptedServer();
                    Usher usher = client(server.url())) {
                server.respondAlways(ScriptedServer.json(page));
                UsherException error = assertThrows(UsherException.class, payment(server, usher)::await);
                if (!(error instanceof OperationFailedException)) {
                    assertEquals(Code.PARSE_ERROR, error.code(), error.getMessage());
                }
                assertTrue(server.requests.size() <= 3, server.requests.toString());
            }
        }
    }

    @Test
    void aLongPollThatDoesNotWaitIsNoStorm() throws Exception {
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = client(server.url())) {
            server.respondAlways(ScriptedServer.json(page(0, false)));
            Call<PaymentResult> call = payment(server, usher);
            assertThrows(TimeoutException.class, () -> call.get(2, TimeUnit.SECONDS));
            assertTrue(server.requests.size() <= 20, "requests: " + server.requests.size());
        }
    }

    @Test
    void aSocketThatLeavesAnEventOutAgainIsAParseError() throws Exception {
        try (ScriptedSocket server = new ScriptedSocket(page(0, false), (message, id) -> message.contains("\"subscribe\"")
                        ? List.of("{\"id\":\"" + id + "\",\"type\":\"success\",\"data\":{}}", push(1, "user_approved"), push(2, "paid"))
                        : List.of());
                Usher usher = client(server.url())) {
            Call<PaymentResult> call = usher.resume(OperationKind.PAYMENT, "s").result();
            assertEquals(Code.PARSE_ERROR, assertThrows(UsherException.class, call::await).code());
            assertTrue(server.messages.size() <= 3, server.messages.toString());
        }
    }

    @Test
    void aStreamThatEndsBeforeItsEndIsReadAgain() throws Exception {
        try (ScriptedSocket server = new ScriptedSocket(page(0, false), (message, id) -> {
                    String accepted = "{\"id\":\"" + id + "\",\"type\":\"success\",\"data\":{}}";
                    String done = "{\"type\":\"done\",\"stream_id\":\"s\",\"next\":2}";
                    if (message.contains("\"after\":0")) {
                        return List.of(accepted, push(0, "timeout"), done);
                    }
                    return message.contains("\"after\":1") ? List.of(accepted, push(1, "paid"), done) : List.of();
                });
                Usher usher = client(server.url())) {
            assertInstanceOf(PaymentResult.Paid.class, usher.resume(OperationKind.PAYMENT, "s").result().await());
        }
    }

    @Test
    void whereTheSocketSendsGarbageHttpTakesOver() throws Exception {
        for (String garbage : new String[] {"null", "<h1>", "{\"type\":5}", "{\"type\":\"error\",\"stream_id\":\"s\",\"error\":{\"errors\":5}}"}) {
            try (ScriptedSocket server = new ScriptedSocket(page(1, true, event(0, "paid")), (message, id) -> List.of(garbage));
                    Usher usher = client(server.url())) {
                Call<PaymentResult> call = usher.resume(OperationKind.PAYMENT, "s").result();
                assertInstanceOf(PaymentResult.Paid.class, call.await(), garbage);
                assertEquals(1, server.messages.size());
            }
        }
    }

    @Test
    void aPauseLongerThanAnyTimeIsNoErrorAndNoStorm() throws Exception {
        String problem = "{\"type\":\"t\",\"title\":\"t\",\"status\":503,\"detail\":\"d\",\"code\":\"overloaded\",\"request_id\":\"r\"}";
        try (ScriptedSocket server = new ScriptedSocket(page(1, true, event(0, "paid")), (message, id) -> List.of(
                        "{\"id\":\"" + id + "\",\"type\":\"error\",\"error\":" + problem + ",\"retry_after\":9223372036854775807}"));
                Usher usher = client(server.url())) {
            Call<PaymentResult> call = usher.resume(OperationKind.PAYMENT, "s").result();
            assertThrows(TimeoutException.class, () -> call.get(2, TimeUnit.SECONDS));
            assertEquals(1, server.messages.size());
        }
    }
}
