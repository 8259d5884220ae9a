// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Webhook deliveries.
 *
 * @param deliveries The deliveries, ordered by the start of their streams and, within a stream, by index.
 * @param next The {@code after} for the next page; {@code null} if this is the last one.
 */
public record WebhookDeliveries(List<WebhookDelivery> deliveries, @Nullable String next) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param deliveries The deliveries, ordered by the start of their streams and, within a stream, by index.
     * @param next The {@code after} for the next page; {@code null} if this is the last one.
     */
    public WebhookDeliveries {
        deliveries = List.copyOf(deliveries);
    }
}
