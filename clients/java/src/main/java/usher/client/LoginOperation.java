package usher.client;

import usher.client.model.LoginStarted;

/**
 * A login: redirect the user's browser to {@link #pageUrl}, or show {@link #url} as a QR code. The user logs in with a wallet
 * or with a browser extension.
 */
public final class LoginOperation extends Operation<LoginResult> {
    private final LoginStarted started;

    LoginOperation(Usher usher, LoginStarted started) {
        super(usher, started.streamId(), OperationKind.AUTHENTICATION);
        this.started = started;
    }

    /**
     * What the user opens in their wallet: show it as a QR code or a link. Anybody who has it can log in in the user's
     * place, so show it to the user only.
     *
     * @return the URL
     */
    public String url() {
        return started.url();
    }

    /**
     * The login page. It belongs to the first browser that opens it: redirect the user's browser there.
     *
     * @return the URL
     */
    public String pageUrl() {
        return started.pageUrl();
    }
}
