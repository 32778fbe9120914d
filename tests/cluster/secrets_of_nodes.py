"""How the nodes of a cluster under test know one another: by a secret, or by certificates."""

import os
import subprocess

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Secret:
    """The same text for all."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "cluster.secret")
        with open(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as out:
            out.write(os.urandom(24).hex() + "\n")

    def flags(self, _):
        return ["--cluster-secret-file", self.path]


class Certificates:
    """Mutual TLS: an authority, and a certificate for each node."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "certificates")
        os.makedirs(self.folder)
        self.openssl("req", "-x509", *KEY, "-keyout", "ca.key", "-days", "3", "-subj", "/CN=chaos", "-out", "ca.pem")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, check=True, timeout=30)

    def flags(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(f"{path}.pem"):
            self.openssl("req", *KEY, "-keyout", f"{name}.key", "-subj", f"/CN={name}", "-out", f"{name}.csr")
            self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                         "-days", "3", "-out", f"{name}.pem")
        return ["--cluster-tls-cert", f"{path}.pem", "--cluster-tls-key", f"{path}.key", "--cluster-tls-ca",
                os.path.join(self.folder, "ca.pem")]
