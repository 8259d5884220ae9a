// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * Something that names the user and was kept.
 *
 * @param reason Why. {@code open}: the stream is open; erase the user again after it has ended. {@code late_payment}:
 *     it has ended, and money may still arrive. {@code pending_delivery}: events of the stream are still to be posted
 *     to the webhook. {@code shared_stream}: the stream has events of others too. {@code mentioned}: the stream is not
 *     about the user, but the key is in it: in a text of the app, or as another user's subkey. {@code damaged}: the
 *     stream's row has the key and cannot be read. {@code stored_response}: the response to a request with an {@code
 *     Idempotency-Key} has the key. {@code relays}: the user's relays, because a stream of theirs is open.
 * @param kind What the stream is of, as in the metrics; {@code subscriptions} is the stream of that name.
 * @param streamId The stream.
 * @param until Until when it is kept, in Unix seconds, if that is known: then it is removed without another request,
 *     within the hour. The newest event of a stream that does not end stays until there is another.
 */
public record KeptOfUser(String reason, @Nullable String kind, @Nullable String streamId, @Nullable Long until) {}
