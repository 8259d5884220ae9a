package usher.client.webhook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
import usher.client.internal.JsonObject;
import usher.client.model.WebhookEvent;

class WebhookVectorsTest {
    private static final String BODY =
            "{\"stream_id\":\"s\",\"index\":4,\"type\":\"StatusUpdate\",\"timestamp\":1,\"data\":{\"status\":\"paid\"}}";

    @TestFactory
    Stream<DynamicTest> acceptsWhatTheServicePostsAndNothingElse() {
        return Vectors.of("webhooks.json", vector -> {
            List<String> secrets = vector.strings("secrets");
            WebhookVerifier verifier = WebhookVerifier.of(
                            secrets.get(0), secrets.subList(1, secrets.size()).toArray(new String[0]))
                    .withClock(Clock.fixed(Instant.ofEpochSecond(vector.integer("now")), ZoneOffset.UTC));
            byte[] body = vector.string("body").getBytes(StandardCharsets.UTF_8);
            Map<String, String> headers = vector.stringMap("headers");
            if (vector.has("error")) {
                InvalidWebhookException error =
                        assertThrows(InvalidWebhookException.class, () -> verify(verifier, vector, body, headers));
                assertEquals(vector.string("error"), error.reason().name().toLowerCase(Locale.ROOT));
            } else {
                WebhookEvent event = verify(verifier, vector, body, headers);
                JsonObject expected = vector.object("event");
                assertEquals(expected.string("stream_id"), event.streamId());
                assertEquals(expected.integer("index"), event.event().index());
                assertEquals(expected.string("type"), event.event().type());
            }
        });
    }

    private static WebhookEvent verify(
            WebhookVerifier verifier, JsonObject vector, byte[] body, Map<String, String> headers) {
        return vector.string("scheme").equals("standard")
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
