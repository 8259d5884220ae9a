// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

/**
 * Whether the service, and each of its parts, can work.
 *
 * @param ready Whether the service can work.
 * @param instance {@code active}, or {@code standby} when another instance is active and has answered:
 *     docs/instances.md.
 * @param relays The operator's relays: one connected relay is enough.
 * @param store The database: it was read and written for this response.
 * @param wallet The Lightning backend. Without it only payments fail, so it does not affect {@code ready} of the
 *     service. {@code none} is always ready.
 * @param tickets The mints. A mint that is away holds up only its own tickets, so it does not affect {@code ready} of
 *     the service.
 * @param rates The exchange rates. Without one only requests with amounts in its currency fail, so they do not affect
 *     {@code ready} of the service.
 */
public record Ready(
        boolean ready,
        String instance,
        ReadyRelays relays,
        ReadyStore store,
        ReadyWallet wallet,
        ReadyTickets tickets,
        ReadyRates rates) {}
