package usher.client;

/** Reading that goes on in the background until it is closed. */
public interface WatchHandle extends AutoCloseable {
    /** Stops. Events that were read and not handed over yet are dropped; they can be read again. */
    @Override
    void close();
}
