/** Requests, responses and events, as docs/openapi.json describes them. Amounts of money are millisats, times are Unix seconds. */
@NullMarked
package usher.client.model;

import org.jspecify.annotations.NullMarked;
