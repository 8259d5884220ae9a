package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import usher.client.model.KeyHandshakeRequest;
import usher.client.model.Problem;

class ProblemVectorsTest {
    @TestFactory
    Stream<DynamicTest> everyErrorHasItsCodeAndIsRepeatedIfThatHelps() {
        return Vectors.of("problems.json", vector -> {
            try (ScriptedServer server = new ScriptedServer();
                    Usher usher = Usher.builder(server.url(), "token").retries(1).versionCheck(false).build()) {
                server.respondAlways(exchange -> {
                    byte[] body = vector.get("body").textValue().getBytes(StandardCharsets.UTF_8);
                    if (!vector.get("content_type").textValue().isEmpty()) {
                        exchange.getResponseHeaders().set("Content-Type", vector.get("content_type").textValue());
                    }
                    exchange.getResponseHeaders().set("Location", "/elsewhere");
                    exchange.sendResponseHeaders((int) vector.get("status").longValue(), body.length == 0 ? -1 : body.length);
                    exchange.getResponseBody().write(body);
                });
                UsherException error = assertThrows(
                        UsherException.class, () -> usher.api().createKeyHandshake(KeyHandshakeRequest.of()).await());
                assertEquals(vector.get("error").textValue(), error.code().name());
                assertEquals(vector.get("temporary").booleanValue() ? 2 : 1, server.requests.size(), "attempts");
                assertEquals(1, server.requests.stream().map(r -> r.idempotencyKey()).distinct().count(), "keys");
                Problem problem = error.problem();
                if (!vector.hasNonNull("problem")) {
                    assertNull(problem);
                    return;
                }
                ObjectNode expected = vector.withObject("problem");
                assertNotNull(problem);
                assertEquals(expected.get("code").textValue(), problem.code());
                assertEquals(expected.get("detail").textValue(), problem.detail());
                assertEquals(expected.get("status").longValue(), problem.status());
                assertEquals(
                        expected.hasNonNull("first") ? expected.get("first").longValue() : null, problem.extensions().get("first"));
                assertEquals(
                        expected.path("errors").size(),
                        problem.errors().size());
            }
        });
    }
}
