package usher.client;

import org.jspecify.annotations.Nullable;

/**
 * Gets the result of a call, or its error.
 *
 * @param <T> what the call returns
 */
@FunctionalInterface
public interface Callback<T> {
    /**
     * Called once, when the call is over.
     *
     * @param value the result; null if there is an error
     * @param error the error; null if there is none
     */
    void done(@Nullable T value, @Nullable UsherException error);
}
