// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The query of {@code GET /webhooks/deliveries}.
 *
 * @param status {@code pending}, {@code delivered} or {@code failed}. Default {@code failed}.
 * @param after Continues after this entry: the {@code next} of the last response.
 * @param limit Most entries in the response. Default 100.
 */
public record ListWebhookDeliveriesQuery(@Nullable String status, @Nullable String after, @Nullable Long limit) {
    /**
     * Creates it with nothing set.
     *
     * @return a new {@code ListWebhookDeliveriesQuery}
     */
    public static ListWebhookDeliveriesQuery of() {
        return new ListWebhookDeliveriesQuery(null, null, null);
    }

    /**
     * Returns a copy with another {@code status}.
     *
     * @param status {@code pending}, {@code delivered} or {@code failed}. Default {@code failed}.
     * @return the copy
     */
    public ListWebhookDeliveriesQuery withStatus(@Nullable String status) {
        return new ListWebhookDeliveriesQuery(status, after, limit);
    }

    /**
     * Returns a copy with another {@code after}.
     *
     * @param after Continues after this entry: the {@code next} of the last response.
     * @return the copy
     */
    public ListWebhookDeliveriesQuery withAfter(@Nullable String after) {
        return new ListWebhookDeliveriesQuery(status, after, limit);
    }

    /**
     * Returns a copy with another {@code limit}.
     *
     * @param limit Most entries in the response. Default 100.
     * @return the copy
     */
    public ListWebhookDeliveriesQuery withLimit(@Nullable Long limit) {
        return new ListWebhookDeliveriesQuery(status, after, limit);
    }
}
