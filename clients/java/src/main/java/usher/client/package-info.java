/** The client: {@link usher.client.Usher}, the operations that it starts, and their results. */
@NullMarked
package usher.client;

import org.jspecify.annotations.NullMarked;
