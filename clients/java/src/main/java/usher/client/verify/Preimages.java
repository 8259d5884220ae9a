package usher.client.verify;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Verifies proofs of payment. */
public final class Preimages {
    private Preimages() {}

    /**
     * Whether a preimage proves a payment: its SHA-256 is the payment hash.
     *
     * @param preimage 64 hex characters
     * @param paymentHash 64 hex characters, as in the invoice
     * @return whether it does; false also if one of them is not 64 hex characters
     */
    public static boolean proves(String preimage, String paymentHash) {
        if (!preimage.matches("[0-9a-fA-F]{64}") || !paymentHash.matches("[0-9a-fA-F]{64}")) {
            return false;
        }
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(HexFormat.of().parseHex(preimage));
            return MessageDigest.isEqual(hash, HexFormat.of().parseHex(paymentHash));
        } catch (NoSuchAlgorithmException error) {
            // Every Java platform has it.
            throw new IllegalStateException(error);
        }
    }
}
