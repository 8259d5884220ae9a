package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import usher.client.internal.JsonObject;
import usher.client.model.KeyHandshakeRequest;
import usher.client.model.Problem;

class ProblemVectorsTest {
    @TestFactory
    Stream<DynamicTest> everyErrorHasItsCodeAndIsRepeatedIfThatHelps() {
        return Vectors.of("problems.json", vector -> {
            try (ScriptedServer server = new ScriptedServer();
                    Usher usher = Usher.builder(server.url(), "token").retries(1).versionCheck(false).build()) {
                server.respondAlways(exchange -> {
                    byte[] body = vector.string("body").getBytes(StandardCharsets.UTF_8);
                    if (!vector.string("content_type").isEmpty()) {
                        exchange.getResponseHeaders().set("Content-Type", vector.string("content_type"));
                    }
                    exchange.getResponseHeaders().set("Location", "/elsewhere");
                    exchange.sendResponseHeaders((int) vector.integer("status"), body.length == 0 ? -1 : body.length);
                    exchange.getResponseBody().write(body);
                });
                UsherException error = assertThrows(
                        UsherException.class, () -> usher.api().createKeyHandshake(KeyHandshakeRequest.of()).await());
                assertEquals(vector.string("error"), error.code().name());
                assertEquals(vector.flag("temporary") ? 2 : 1, server.requests.size(), "attempts");
                assertEquals(1, server.requests.stream().map(r -> r.idempotencyKey()).distinct().count(), "keys");
                Problem problem = error.problem();
                if (!vector.has("problem")) {
                    assertNull(problem);
                    return;
                }
                JsonObject expected = vector.object("problem");
                assertNotNull(problem);
                assertEquals(expected.string("code"), problem.code());
                assertEquals(expected.string("detail"), problem.detail());
                assertEquals(expected.integer("status"), problem.status());
                assertEquals(expected.optionalInteger("first"), problem.extensions().get("first"));
                assertEquals(
                        expected.has("errors") ? expected.list("errors", e -> e.string("pointer")).size() : 0,
                        problem.errors().size());
            }
        });
    }
}
