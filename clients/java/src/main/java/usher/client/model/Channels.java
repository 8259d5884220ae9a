// Written by clients/java/generate from docs/openapi.json; do not edit.
package usher.client.model;

import java.util.List;

/**
 * The channels of the node.
 *
 * @param channels See the type.
 */
public record Channels(List<Channel> channels) {
    /**
     * Keeps unchangeable copies of lists.
     *
     * @param channels See the type.
     */
    public Channels {
        channels = List.copyOf(channels);
    }
}
