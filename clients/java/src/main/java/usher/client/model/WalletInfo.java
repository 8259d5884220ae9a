// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import org.jspecify.annotations.Nullable;

/**
 * The service's Lightning backend.
 *
 * @param backend Which backend it is: {@code wallet.ln_backend}.
 * @param notifications Whether it sends notifications of settlements; otherwise invoices are looked up.
 * @param alias Its name.
 * @param balance What it can spend, in millisats; {@code null} if it does not tell. Of a node of the service: what its
 *     channels can send.
 * @param network Its network, if it tells: {@code bitcoin}, {@code testnet}, {@code signet} or {@code regtest}.
 * @param node The state of the node, if the service runs it itself ({@code embedded}).
 */
public record WalletInfo(
        String backend,
        boolean notifications,
        @Nullable String alias,
        @Nullable Long balance,
        @Nullable String network,
        @Nullable LightningNode node) {}
