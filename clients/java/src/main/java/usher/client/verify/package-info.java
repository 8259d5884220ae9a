/** Verifies JWTs and payment proofs without asking the service. */
@NullMarked
package usher.client.verify;

import org.jspecify.annotations.NullMarked;
