package usher.client;

import usher.client.model.VerificationSession;

/**
 * An age verification with a page for the user. The result {@link TicketResult.Received} means that the user has passed, and
 * has the proof, which you redeem at once.
 */
public final class VerificationOperation extends Operation<TicketResult> {
    private final VerificationSession session;

    VerificationOperation(Usher usher, VerificationSession session) {
        super(usher, session.streamId(), OperationKind.TICKET);
        this.session = session;
    }

    /**
     * The session: redirect the user's browser to its {@code sessionUrl}.
     *
     * @return the session
     */
    public VerificationSession session() {
        return session;
    }
}
