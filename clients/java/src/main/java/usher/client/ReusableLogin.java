package usher.client;

import usher.client.model.LoginStarted;

/**
 * A login of any number of users: show {@link #url} as a QR code on a poster or at a door. It never ends, and has no single
 * result: each {@code StatusUpdate} says in {@code mainKey} whose it is. Grant access on {@code approved} and on nothing else.
 */
public final class ReusableLogin {
    private final Usher usher;
    private final LoginStarted started;

    ReusableLogin(Usher usher, LoginStarted started) {
        this.usher = usher;
        this.started = started;
    }

    /**
     * The stream with the events of all users.
     *
     * @return the id of the stream
     */
    public String streamId() {
        return started.streamId();
    }

    /**
     * What users open in their wallets.
     *
     * @return the URL
     */
    public String url() {
        return started.url();
    }

    /**
     * The page for users' browsers. Each browser gets a login of its own there.
     *
     * @return the URL
     */
    public String pageUrl() {
        return started.pageUrl();
    }

    /**
     * Hands the events of all users to a listener, as {@link Usher#watch} does.
     *
     * @param after the first index that you want: 0, or one more than the last that you have handled
     * @param listener gets the events
     * @return closes the reading
     */
    public WatchHandle watch(long after, StreamListener listener) {
        return usher.watch(streamId(), after, listener);
    }
}
