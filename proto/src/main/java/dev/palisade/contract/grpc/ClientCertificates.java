package dev.palisade.contract.grpc;

/** Whether clients of a TLS server have to present a certificate. One that is presented is always verified. */
public enum ClientCertificates {
    /** A client without a certificate is refused in the handshake. */
    REQUIRED,
    /** A client without a certificate has to authenticate in another way, which TLS does not check. */
    OPTIONAL
}
