// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of the Lightning node that the service runs itself. All amounts are millisats.
 *
 * @param nodeId Its public key.
 * @param syncedAt When it last processed the chain, in Unix seconds; {@code null} before the first time.
 * @param height The height of the last block that it has processed.
 * @param channels Its channels ({@code GET /wallet/channels}).
 * @param inbound The largest payment that it can receive without a new channel.
 * @param onChain Its balance on the chain.
 * @param pending What is on its way.
 * @param skimmedFees What liquidity providers have kept for opening channels, in all.
 * @param closures How many channels were closed, in all.
 * @param warnings What the operator should know.
 */
public record LightningNode(
        String nodeId,
        @Nullable Long syncedAt,
        long height,
        LightningNodeChannels channels,
        long inbound,
        LightningNodeOnChain onChain,
        LightningNodePending pending,
        long skimmedFees,
        LightningNodeClosures closures,
        List<LightningNodeWarning> warnings) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param nodeId Its public key.
     * @param syncedAt When it last processed the chain, in Unix seconds; {@code null} before the first time.
     * @param height The height of the last block that it has processed.
     * @param channels Its channels ({@code GET /wallet/channels}).
     * @param inbound The largest payment that it can receive without a new channel.
     * @param onChain Its balance on the chain.
     * @param pending What is on its way.
     * @param skimmedFees What liquidity providers have kept for opening channels, in all.
     * @param closures How many channels were closed, in all.
     * @param warnings What the operator should know.
     */
    public LightningNode {
        warnings = List.copyOf(warnings);
    }
}
