// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * A ticket that was sent and is not known to be redeemed.
 *
 * @param streamId Its stream.
 * @param mainKey The user.
 * @param mintUrl The mint.
 * @param unit The unit.
 * @param amount Its value in the unit, as the token states it.
 * @param status {@code queued}: not sent yet. {@code sent}: it is sent again and again. {@code timeout}: not redeemed
 *     in time, and not sent any more. {@code reclaiming}: being taken back.
 * @param createdAt When it was first sent, in Unix seconds.
 * @param expiresAt Until when it is sent, in Unix seconds.
 */
public record OutgoingTicket(
        String streamId,
        String mainKey,
        String mintUrl,
        String unit,
        long amount,
        String status,
        long createdAt,
        long expiresAt) {}
