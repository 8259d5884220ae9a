// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The delivery of an event to {@code webhook.url}. It identifies the event and does not contain its data: read that
 * from the stream.
 *
 * @param id Its id, which the receiver gets as {@code webhook-id}.
 * @param streamId The event's stream.
 * @param index The event's index.
 * @param type The event's type.
 * @param timestamp When the event happened, in Unix seconds.
 * @param status {@code pending}, {@code delivered} (the receiver responded 2xx), or {@code failed} (given up).
 * @param attempts How many attempts were made since it became pending.
 * @param since When it became pending, in Unix seconds: with the event, or when it was sent again by hand.
 * @param lastAttemptAt The time of the last attempt, in Unix seconds.
 * @param lastError Why the last attempt failed.
 * @param lastStatus The HTTP status of the last attempt; {@code null} if there was no response.
 * @param nextAttemptAt The time of the next attempt, in Unix seconds; {@code null} if it is not pending. Earlier
 *     pending events of its stream go first.
 */
public record WebhookDelivery(
        String id,
        String streamId,
        long index,
        String type,
        long timestamp,
        String status,
        long attempts,
        long since,
        @Nullable Long lastAttemptAt,
        @Nullable String lastError,
        @Nullable Long lastStatus,
        @Nullable Long nextAttemptAt) {}
