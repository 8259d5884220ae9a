package usher.client.webhook;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException;
import usher.client.internal.Events;
import usher.client.internal.Json;
import usher.client.model.WebhookEvent;
import usher.client.webhook.InvalidWebhookException.Reason;

/**
 * Verifies posts of {@code webhook.url} and reads their events.
 *
 * <pre>{@code
 * var webhooks = WebhookVerifier.of(secret);
 * WebhookEvent event = webhooks.verify(rawBody, request::getHeader);
 * }</pre>
 *
 * <p>A post arrives at least once: store {@link WebhookEvent#id} of the events that you have handled.
 */
public final class WebhookVerifier {
    private static final String PREFIX = "whsec_";
    /** How old a post may be, and how far ahead the clock of the service. */
    private static final Duration TOLERANCE = Duration.ofMinutes(5);

    /** So many signatures of a post are compared: the service sends one for each of its secrets. */
    private static final int SIGNATURES = 16;

    private final List<Secret> secrets;
    private final Clock clock;

    /** Does not show them. */
    private static final class Secret {
        final byte[] text;
        final byte[] key;

        Secret(String text) {
            this.text = text.getBytes(StandardCharsets.UTF_8);
            byte[] decoded = this.text;
            if (text.startsWith(PREFIX)) {
                try {
                    decoded = Base64.getDecoder().decode(text.substring(PREFIX.length()));
                } catch (IllegalArgumentException error) {
                    throw new IllegalArgumentException("a webhook secret goes on with base64 after whsec_");
                }
            }
            if (decoded.length == 0) {
                throw new IllegalArgumentException("a webhook secret is empty");
            }
            this.key = decoded;
        }
    }

    private WebhookVerifier(List<Secret> secrets, Clock clock) {
        this.secrets = secrets;
        this.clock = clock;
    }

    /**
     * Creates a verifier.
     *
     * @param secret {@code webhook.secret}
     * @param further other secrets that are accepted, while the secret is being changed
     * @return the verifier
     * @throws IllegalArgumentException a secret is empty, or not base64 after {@code whsec_}
     */
    public static WebhookVerifier of(String secret, String... further) {
        List<Secret> secrets = new ArrayList<>();
        secrets.add(new Secret(secret));
        for (String other : further) {
            secrets.add(new Secret(other));
        }
        return new WebhookVerifier(List.copyOf(secrets), Clock.systemUTC());
    }

    /**
     * Returns a copy with another clock, for tests.
     *
     * @param clock tells how old a post is
     * @return the copy
     */
    public WebhookVerifier withClock(Clock clock) {
        return new WebhookVerifier(secrets, clock);
    }

    /**
     * Verifies {@code webhook-signature} (Standard Webhooks), which also covers the id and the time: an old post cannot be
     * sent again by somebody else.
     *
     * @param body the raw bytes of the body
     * @param header returns the value of a header by its name, in lower case, or null; as most frameworks have it
     * @return the event
     * @throws InvalidWebhookException it is not signed with one of the secrets, or more than five minutes old
     * @throws UsherException {@code PARSE_ERROR}: it is signed, but no event that this client can read
     */
    public WebhookEvent verify(byte[] body, Function<String, @Nullable String> header) {
        String id = required(header, "webhook-id");
        String timestamp = required(header, "webhook-timestamp");
        String signatures = required(header, "webhook-signature");
        long age = timestamp.matches("[0-9]{1,15}")
                ? Math.abs(clock.instant().getEpochSecond() - Long.parseLong(timestamp))
                : Long.MAX_VALUE;
        if (age > TOLERANCE.toSeconds()) {
            throw new InvalidWebhookException(
                    Reason.TIMESTAMP_OUT_OF_RANGE, "the post is more than five minutes old, or a clock is wrong");
        }
        byte[] signed = signed(id, timestamp, body);
        List<byte[]> given = Stream.of(signatures.split(" "))
                .filter(signature -> signature.startsWith("v1,"))
                .limit(SIGNATURES)
                .map(signature -> signature.substring("v1,".length()).getBytes(StandardCharsets.UTF_8))
                .toList();
        boolean valid = false;
        for (Secret secret : secrets) {
            byte[] expected = Base64.getEncoder().encode(hmac(secret.key, signed));
            for (byte[] signature : given) {
                valid |= MessageDigest.isEqual(expected, signature);
            }
        }
        if (!valid) {
            throw new InvalidWebhookException(Reason.SIGNATURE_MISMATCH, "no signature is of one of the secrets");
        }
        WebhookEvent event = read(body);
        if (!event.id().equals(id)) {
            throw new InvalidWebhookException(Reason.SIGNATURE_MISMATCH, "webhook-id is not that of the event");
        }
        return event;
    }

    /**
     * Verifies {@code X-Service-Signature}, which covers the body alone: whoever has seen a post can send it again. Prefer
     * {@link #verify}.
     *
     * @param body the raw bytes of the body
     * @param signature the value of the header, or null
     * @return the event
     * @throws InvalidWebhookException it is not signed with one of the secrets
     * @throws UsherException {@code PARSE_ERROR}: it is signed, but no event that this client can read
     */
    public WebhookEvent verifyServiceSignature(byte[] body, @Nullable String signature) {
        if (signature == null) {
            throw new InvalidWebhookException(Reason.MISSING_HEADER, "X-Service-Signature is missing");
        }
        boolean valid = false;
        for (Secret secret : secrets) {
            String expected = HexFormat.of().formatHex(hmac(secret.text, body));
            valid |= MessageDigest.isEqual(
                    expected.getBytes(StandardCharsets.UTF_8),
                    signature.toLowerCase(Locale.ROOT).getBytes(StandardCharsets.UTF_8));
        }
        if (!valid) {
            throw new InvalidWebhookException(Reason.SIGNATURE_MISMATCH, "X-Service-Signature is not of one of the secrets");
        }
        return read(body);
    }

    /**
     * Signs a body as the service does, for the tests of your app.
     *
     * @param body the body of the post: an event with its {@code stream_id}
     * @return the headers
     * @throws UsherException {@code PARSE_ERROR}: the body is no event
     */
    public Map<String, String> sign(byte[] body) {
        String id = read(body).id();
        String timestamp = Long.toString(clock.instant().getEpochSecond());
        List<String> signatures = new ArrayList<>();
        for (Secret secret : secrets) {
            signatures.add("v1," + Base64.getEncoder().encodeToString(hmac(secret.key, signed(id, timestamp, body))));
        }
        return Map.of(
                "webhook-id", id,
                "webhook-timestamp", timestamp,
                "webhook-signature", String.join(" ", signatures),
                "x-service-event-id", id,
                "x-service-signature", HexFormat.of().formatHex(hmac(secrets.get(0).text, body)));
    }

    private static WebhookEvent read(byte[] body) {
        return Events.webhookEvent(Json.object(body, "the post"));
    }

    private static String required(Function<String, @Nullable String> header, String name) {
        String value = header.apply(name);
        if (value == null) {
            throw new InvalidWebhookException(Reason.MISSING_HEADER, name + " is missing");
        }
        return value;
    }

    private static byte[] signed(String id, String timestamp, byte[] body) {
        byte[] head = (id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8);
        byte[] whole = new byte[head.length + body.length];
        System.arraycopy(head, 0, whole, 0, head.length);
        System.arraycopy(body, 0, whole, head.length, body.length);
        return whole;
    }

    private static byte[] hmac(byte[] key, byte[] message) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(message);
        } catch (GeneralSecurityException error) {
            // Every Java platform has it.
            throw new IllegalStateException(error);
        }
    }
}
