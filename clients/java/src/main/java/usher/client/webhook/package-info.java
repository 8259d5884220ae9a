/** Receives webhooks: verifies their signatures and reads their events. */
@NullMarked
package usher.client.webhook;

import org.jspecify.annotations.NullMarked;
