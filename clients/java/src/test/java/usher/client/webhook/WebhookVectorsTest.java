package usher.client.webhook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import usher.client.UsherException;
import usher.client.Vectors;
import usher.client.internal.Json;
import usher.client.model.WebhookEvent;

class WebhookVectorsTest {
    private static final String BODY =
            "{\"stream_id\":\"s\",\"index\":4,\"type\":\"StatusUpdate\",\"timestamp\":1,\"data\":{\"status\":\"paid\"}}";

    @TestFactory
    Stream<DynamicTest> acceptsWhatTheServicePostsAndNothingElse() {
        return Vectors.of("webhooks.json", vector -> {
            List<String> secrets = List.of(Json.read(vector.get("secrets"), String[].class));
            WebhookVerifier verifier = WebhookVerifier.of(
                            secrets.get(0), secrets.subList(1, secrets.size()).toArray(new String[0]))
                    .withClock(Clock.fixed(Instant.ofEpochSecond(vector.get("now").longValue()), ZoneOffset.UTC));
            byte[] body = vector.get("body").textValue().getBytes(StandardCharsets.UTF_8);
            Map<String, String> headers = new HashMap<>();
            vector.get("headers").properties().forEach(header -> headers.put(header.getKey(), header.getValue().textValue()));
            if (vector.hasNonNull("error")) {
                InvalidWebhookException error =
                        assertThrows(InvalidWebhookException.class, () -> verify(verifier, vector, body, headers));
                assertEquals(vector.get("error").textValue(), error.reason().name().toLowerCase(Locale.ROOT));
            } else {
                WebhookEvent event = verify(verifier, vector, body, headers);
                ObjectNode expected = vector.withObject("event");
                assertEquals(expected.get("stream_id").textValue(), event.streamId());
                assertEquals(expected.get("index").longValue(), event.event().index());
                assertEquals(expected.get("type").textValue(), event.event().type());
            }
        });
    }

    private static WebhookEvent verify(
            WebhookVerifier verifier, ObjectNode vector, byte[] body, Map<String, String> headers) {
        return vector.get("scheme").textValue().equals("standard")
                ? verifier.verify(body, headers::get)
                : verifier.verifyServiceSignature(body, headers.get("x-service-signature"));
    }

    @Test
    void whatItSignsItAccepts() {
        byte[] body = BODY.getBytes(StandardCharsets.UTF_8);
        WebhookVerifier both = WebhookVerifier.of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "the old one");
        Map<String, String> headers = both.sign(body);
        assertEquals("s:4", both.verify(body, headers::get).id());
        assertEquals("s:4", WebhookVerifier.of("the old one").verify(body, headers::get).id());
        assertEquals("s:4", both.verifyServiceSignature(body, headers.get("x-service-signature")).id());
    }

    @Test
    void comparesAFewSignaturesOnly() {
        byte[] body = BODY.getBytes(StandardCharsets.UTF_8);
        WebhookVerifier verifier = WebhookVerifier.of("secret");
        Map<String, String> headers = new HashMap<>(verifier.sign(body));
        String signature = headers.get("webhook-signature");
        headers.put("webhook-signature", "v1,x ".repeat(15) + signature);
        assertEquals("s:4", verifier.verify(body, headers::get).id());
        headers.put("webhook-signature", "v1,x ".repeat(16) + signature);
        assertThrows(InvalidWebhookException.class, () -> verifier.verify(body, headers::get));
    }

    @Test
    void aSignedBodyThatIsNoEventIsAParseError() {
        WebhookVerifier verifier = WebhookVerifier.of("secret");
        byte[] body = BODY.getBytes(StandardCharsets.UTF_8);
        Map<String, String> headers = verifier.sign(body);
        assertEquals("s:4", headers.get("webhook-id"));
        UsherException error = assertThrows(UsherException.class, () -> verifier.sign("[]".getBytes(StandardCharsets.UTF_8)));
        assertEquals(UsherException.Code.PARSE_ERROR, error.code());
    }

    @Test
    void aSecretThatIsNoneIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> WebhookVerifier.of(""));
        assertThrows(IllegalArgumentException.class, () -> WebhookVerifier.of("whsec_"));
        assertThrows(IllegalArgumentException.class, () -> WebhookVerifier.of("whsec_$"));
    }
}
