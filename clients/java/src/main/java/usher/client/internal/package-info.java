/** JSON and requests; not exported. */
@NullMarked
package usher.client.internal;

import org.jspecify.annotations.NullMarked;
